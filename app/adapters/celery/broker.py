"""`Broker` over Celery: sends a task by its name, without importing what runs it."""

import asyncio
import time
from typing import Any, cast

from celery import Celery
from kombu.exceptions import ChannelError, OperationalError
from redis.exceptions import RedisError

from app.core.errors import EngineUnavailable

QUEUE = "biggraph"
DOWN_SECONDS = 1.0
"""So long a broker that failed is not asked again: uploads need not each wait for it to time out."""


def create_celery(broker_url: str, queue: str = QUEUE) -> Celery:
    """A Celery application on Redis. The broker only wakes workers, so nothing is kept in a result backend.

    Platforms that share a Redis need a `queue` each: a worker would take, and drop, what is meant for another's.
    """
    celery = Celery("biggraph", broker=broker_url)
    celery.conf.update(
        task_default_queue=queue,
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=False,  # the ledger's lease expires instead, and the sweeper wakes another worker
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        worker_send_task_events=False,
        worker_proc_alive_timeout=120,  # a new process opens its engines before it says that it is up
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        task_publish_retry=False,
        broker_transport_options={
            "socket_connect_timeout": 1,
            "socket_timeout": 5,
            "socket_keepalive": True,
            "visibility_timeout": 3600,
        },
    )
    return celery


class CeleryBroker:
    """Publishes through `celery`, whose connections it sets up to fail rather than to wait."""

    def __init__(self, celery: Celery) -> None:
        options = celery.conf.broker_transport_options | {"max_retries": 0}
        celery.conf.update(broker_transport_options=options)
        self._celery = celery
        self._down_until = 0.0

    async def publish(self, task: str, arguments: dict[str, Any]) -> None:
        if time.monotonic() < self._down_until:
            raise _unavailable()
        await asyncio.to_thread(self._publish, task, arguments)

    def _publish(self, task: str, arguments: dict[str, Any]) -> None:
        try:
            self._celery.send_task(task, kwargs=arguments, retry=False)
        except (OperationalError, RedisError, OSError) as error:
            self._down_until = time.monotonic() + DOWN_SECONDS
            raise _unavailable() from error

    async def waiting(self) -> int:
        return await asyncio.to_thread(self._waiting)

    def _waiting(self) -> int:
        queue = self._celery.conf.task_default_queue
        try:
            with self._celery.connection_for_read() as connection, connection.channel() as channel:
                count: int = cast("Any", channel).queue_declare(queue, passive=True).message_count
                return count
        except ChannelError:  # nobody has used the queue yet
            return 0
        except (OperationalError, RedisError, OSError) as error:
            raise _unavailable() from error

    async def close(self) -> None:
        await asyncio.to_thread(self._celery.close)


def _unavailable() -> EngineUnavailable:
    return EngineUnavailable("The broker (Redis) does not answer.", code="broker_unavailable")
