"""Celery's side: thin tasks that hand operations to services."""
