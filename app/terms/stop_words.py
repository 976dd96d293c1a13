"""Words that say nothing about what is looked for. Left out of queries only: texts are indexed with them.

Question words of the language are the important ones: a text that answers rarely holds them.
"""

_ENGLISH = """
a an the this that these those here there
and or but nor so yet if then than because while until as
of at by for with about into to from in on off out over under up down through during
before after above below between again further once against
i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
myself ourselves yourself himself herself itself themselves
is are was were be been being am do does did doing done have has had having
can could should would will shall may might must cannot
can't couldn't don't doesn't didn't isn't aren't wasn't weren't won't wouldn't shouldn't haven't hasn't hadn't
i'm i'd i'll i've you're it's that's there's what's who's let's
what which who whom whose when where why how
no not too very just also any some such only own same both each few more most other all
s t d ll m re ve don get got please tell
"""

_CHINESE = """
的 地 得 了 着 过 是 在 和 与 及 或 以及 或者 有 把 被 给 对 从 到 由 于
对于 关于 其 之 所 而 就 都 也 还 又 很 会 要 能 可以 能够
我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们 这 那 这个 那个 这些 那些 这样 那样 这里 那里
吗 呢 吧 啊 呀 么 嘛 啦 哦 嗯
什么 怎么 怎样 怎么样 怎么办 怎么着 如何 为什么 为何 为啥 啥 咋 咋办 什么样 什么时候
哪 哪个 哪些 哪里 哪儿 哪一个 哪一 哪种 谁
几 多少 是否 是不是 有没有 能不能 可不可以 请 请问 请教 想问 问一下 告诉 一下
著 過 與 給 對 從 於 對於 關於 還 會 個 們 我們 你們 他們 她們 它們 這 這個 那個 這些 這樣 那樣 這裡 那裡 這裏
嗎 麼 什麼 甚麼 怎麼 怎麼樣 怎麼辦 為什麼 為甚麼 什麼樣 什麼時候 哪個 哪裡 哪裏 哪兒 哪一個 哪種 誰 幾 請 請問 告訴
"""

ENGLISH = frozenset(_ENGLISH.split())
CHINESE = frozenset(_CHINESE.split())
