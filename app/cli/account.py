"""`login`, `logout`, `register`, `whoami`."""

from typing import Annotated

import typer
from rich import print as show
from rich.markup import escape

from app.cli.client import ApiError, open_api
from app.cli.credentials import load_tokens, locked, save_tokens, store_tokens


def register(app: typer.Typer) -> None:
    app.command()(login)
    app.command()(logout)
    app.command("register")(register_account)
    app.command()(whoami)


Email = Annotated[str, typer.Option(prompt=True)]
Password = Annotated[str, typer.Option(prompt=True, hide_input=True, envvar="BIGGRAPH_PASSWORD")]
NewPassword = Annotated[
    str, typer.Option(prompt=True, confirmation_prompt=True, hide_input=True, envvar="BIGGRAPH_PASSWORD")
]


def login(email: Email, password: Password) -> None:
    """Logs in and keeps the tokens for the other commands."""
    with open_api() as api:
        tokens = api.call("POST", "/v1/auth/login", anonymous=True, json={"email": email, "password": password})
        save_tokens(api.url, tokens)
        show(f"Logged in at {api.url} as {email}.")


def register_account(email: Email, password: NewPassword, tenant: Annotated[str, typer.Option(prompt=True)]) -> None:
    """Makes a tenant that you own, and logs in."""
    with open_api() as api:
        body = {"email": email, "password": password, "tenant": tenant}
        save_tokens(api.url, api.call("POST", "/v1/auth/register", anonymous=True, json=body))
        show(escape(f"Made the tenant “{tenant}” at {api.url}; you own it."))


def logout() -> None:
    """Ends the login, here and at the server."""
    with open_api() as api:
        with locked():  # another shell that renews the login would keep it alive
            tokens = load_tokens(api.url)
            store_tokens(api.url, None)
        try:
            if tokens:
                body = {"refresh_token": tokens["refresh_token"]}
                api.call("POST", "/v1/auth/logout", anonymous=True, json=body)
        except ApiError as error:
            show(
                escape(
                    f"Forgot the login, but the server could not end it, and it lasts until it expires: {error.detail}"
                )
            )
            raise typer.Exit(1) from error
        show(f"Logged out at {api.url}.")


def whoami() -> None:
    """Says who is logged in, and where."""
    with open_api() as api:
        me = api.call("GET", "/v1/auth/me")
        show(escape(f"{me['user']['email']}, {me['role']} of “{me['tenant']['name']}”, at {api.url}"))
