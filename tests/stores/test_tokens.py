"""Tokens in the store: their digests, roles and labels, until they are revoked."""

from hashlib import sha256

import pytest

from deniable.stores import Role, Store, StoreError, Token
from tests.stores.places import NOW, Place

DIGEST = sha256(b"token").digest()
TOKEN = Token(DIGEST, Role.ANALYST, "first", NOW)


@pytest.mark.asyncio
@pytest.mark.parametrize("role", list(Role))
async def test_a_token_has_the_role_it_was_made_with(
    place: Place, store: Store, role: Role
) -> None:
    await store.add_token(Token(DIGEST, role, "somebody", NOW))
    other = await place.open()
    assert await other.token_role(DIGEST) is role
    assert await store.token_role(DIGEST) is role
    await other.close()


@pytest.mark.asyncio
async def test_no_other_digest_has_a_role(store: Store) -> None:
    await store.add_token(TOKEN)
    for digest in (sha256(b"other").digest(), DIGEST[:-1], DIGEST + b"\0", b"", DIGEST[::-1]):
        assert await store.token_role(digest) is None
        assert not await store.revoke_token(digest)
    assert await store.token_role(DIGEST) is Role.ANALYST


@pytest.mark.asyncio
async def test_a_token_never_changes_its_role(store: Store) -> None:
    await store.add_token(TOKEN)
    with pytest.raises(StoreError):
        await store.add_token(Token(DIGEST, Role.OPERATOR, "second", NOW + 1))
    assert await store.tokens() == [TOKEN]


@pytest.mark.asyncio
async def test_tokens_are_listed_the_oldest_first_as_they_were_made(place: Place) -> None:
    store = await place.open()
    assert await store.tokens() == []
    made = [
        Token(sha256(bytes([n])).digest(), role, label, NOW + late)
        for n, (role, label, late) in enumerate(
            [(Role.OPERATOR, "", 5), (Role.ANALYST, "the statistics office; 'é' [b]", 0)]
        )
    ]
    for token in made:
        await store.add_token(token)
    assert await store.tokens() == made[::-1]
    await store.close()
    store = await place.open()
    assert await store.tokens() == made[::-1]
    await store.close()


@pytest.mark.asyncio
async def test_a_revoked_token_has_no_role_anywhere_from_then_on(
    place: Place, store: Store
) -> None:
    other = await place.open()
    kept = Token(sha256(b"kept").digest(), Role.OPERATOR, "", NOW)
    for token in (TOKEN, kept):
        await store.add_token(token)
    assert await other.token_role(DIGEST) is Role.ANALYST
    assert await store.revoke_token(DIGEST)
    assert await other.token_role(DIGEST) is None
    assert await other.tokens() == [kept]
    assert not await other.revoke_token(DIGEST)
    await other.close()
