"""Short secrets at rest."""

from app.core.sealing import seal, unseal

SECRET = bytes(range(32))


def test_what_is_sealed_opens_with_its_secret_and_for_its_purpose_alone() -> None:
    sealed = seal(SECRET, "row 1", "密码 swordfish")
    assert "swordfish" not in sealed
    assert unseal(SECRET, "row 1", sealed) == "密码 swordfish"
    assert unseal(SECRET, "row 2", sealed) is None
    assert unseal(bytes(32), "row 1", sealed) is None
    assert unseal(SECRET, "row 1", sealed[:-6] + "AAAA==") is None
    assert seal(SECRET, "row 1", "密码 swordfish") != sealed
