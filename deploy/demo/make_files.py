"""Writes the demo's documents into `app/demo/files`. Run it after changing a text: `python -m deploy.demo.make_files`.

The company, its island and its products are invented for the demo.
"""

from pathlib import Path

import pymupdf
from docx import Document
from openpyxl import Workbook

FILES = Path(__file__).parents[2] / "app" / "demo" / "files"

LIGHTHOUSE = [
    """<h1>月光灯塔参观指南</h1>
    <p>月光灯塔位于青屿岛东端的鹰嘴崖上，建于1923年，是青屿岛上最古老的建筑。塔身为白色花岗岩，高38米，共有176级螺旋台阶。</p>
    <h2>一、灯光与航行</h2>
    <p>灯塔使用一组四等菲涅耳透镜，灯光可以照到22海里以外。灯光每十秒闪三次，雾天另外每分钟鸣笛两次。</p>
    <p>2016年起，灯塔改用太阳能供电，蓄电池可以在没有阳光的情况下连续供电五天。</p>""",
    """<h2>二、开放时间与票价</h2>
    <p>灯塔每周二至周日开放，上午九点至下午五点，下午四点半停止入场。每周一闭馆检修。</p>
    <table border="1"><tr><th>票种</th><th>价格（元）</th><th>说明</th></tr>
    <tr><td>成人票</td><td>60</td><td>含登塔</td></tr>
    <tr><td>学生票</td><td>30</td><td>凭学生证</td></tr>
    <tr><td>儿童票</td><td>0</td><td>身高1.2米以下，须由成人陪同</td></tr></table>
    <h2>三、安全须知</h2>
    <p>风力超过八级时停止登塔。患有心脏病、高血压的游客请量力而行。崖边护栏外禁止拍照。</p>""",
]

HANDBOOK = [
    ("Employee handbook", 0, []),
    (
        "Working time",
        1,
        [
            "The regular week has 38 hours. Core time is from 10:00 to 15:00; outside of it everybody arranges their "
            "hours with their team.",
            "Remote work is possible on up to three days a week. Requests go to the team lead two days ahead.",
        ],
    ),
    (
        "Paid leave",
        1,
        [
            "Every employee has 25 days of paid leave a year. After three years with the company it is 28 days, after "
            "ten years 32 days.",
            "Unused days may be carried over until 31 March of the next year; after that they expire.",
        ],
    ),
    (
        "Travel and expenses",
        1,
        [
            "Trains are preferred to flights for journeys of less than six hours. Second class is the rule; first "
            "class needs the consent of the head of department.",
            "Receipts are handed in within 30 days. The daily allowance is 42 euros at home and 58 euros abroad.",
        ],
    ),
]

PRODUCTS = [
    ["Code", "Name", "名称", "Battery (Wh)", "Range (km)", "Price (EUR)", "In stock"],
    ["ZC-2024-001", "Tern survey drone", "燕鸥测绘无人机", 310, 42, 4890, 17],
    ["ZC-2024-002", "Tern survey drone, maritime", "燕鸥测绘无人机（海事版）", 420, 55, 6350, 4],
    ["ZC-2024-007", "Gull charging dock", "海鸥充电机巢", 0, 0, 2190, 9],
    ["ZC-2025-003", "Petrel sea buoy", "海燕海洋浮标", 1250, 0, 8400, 2],
]
STAFFED = [["Site", "Country", "Engineers", "Since"], ["Qingyu", "China", 24, 2012], ["Bergen", "Norway", 11, 2019]]

FAQ = """# Tern drone: questions and answers

## How long does a full charge take?

95 minutes on the Gull charging dock, and about four hours on a household socket. Charging stops by itself at 100 %.

## What does error E-17 mean?

The compass is disturbed. Move at least ten metres away from metal structures and calibrate again:

```
ternctl compass calibrate --axis all
```

## 无人机可以在雨中飞行吗？

可以在小雨中飞行（防护等级 IP54），但风速不得超过每秒12米。飞行后请用软布擦干机身，并打开电池舱通风。

## Warranty

- 24 months for airframe and electronics
- 12 months or 300 cycles for batteries, whichever comes first
"""

LOGBOOK = """青屿岛值班日志

三月四日 值班员更换了二号浮标的电池，浮标编号ZC-2025-003，信号恢复正常。

三月九日 大雾，能见度不足两百米，雾笛从凌晨两点鸣响至上午十一点，所有渡轮停航。

三月十五日 鹰嘴崖北侧护栏发现两处锈蚀，已报修，预计四月一日前完成更换。
"""


def write_pdf(path: Path) -> None:
    document = pymupdf.open()
    for html in LIGHTHOUSE:
        page = document.new_page()
        page.insert_htmlbox(pymupdf.Rect(60, 60, 535, 780), html)
    document.set_metadata({"title": "月光灯塔参观指南"})
    document.subset_fonts()
    document.save(path, garbage=4, deflate=True)


def write_docx(path: Path) -> None:
    document = Document()
    for heading, level, paragraphs in HANDBOOK:
        document.add_heading(heading, level)
        for paragraph in paragraphs:
            document.add_paragraph(paragraph)
    document.core_properties.title = "Employee handbook"
    document.save(str(path))


def write_xlsx(path: Path) -> None:
    workbook = Workbook()
    for title, rows in (("Products", PRODUCTS), ("Sites", STAFFED)):
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
    workbook.remove(workbook.worksheets[0])
    workbook.save(path)


if __name__ == "__main__":
    FILES.mkdir(parents=True, exist_ok=True)
    write_pdf(FILES / "月光灯塔参观指南.pdf")
    write_docx(FILES / "employee-handbook.docx")
    write_xlsx(FILES / "products.xlsx")
    (FILES / "tern-drone-faq.md").write_text(FAQ, encoding="utf-8")
    (FILES / "青屿岛值班日志.txt").write_bytes(LOGBOOK.encode("gb18030"))
