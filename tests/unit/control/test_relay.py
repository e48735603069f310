"""Somebody on the way, who knows no secret, can neither take part in a greeting nor touch what
follows it."""

import hmac
import socket

import msgspec
import pytest

from halftrip.control import greeting
from halftrip.control.protocol import LENGTH, Closed, Tampered, framed
from halftrip.control.sealing import KeyShare, Sealing
from harness.doors import HELLO, TOKEN
from harness.tcp_relay import exactly, relayed

SAID = [b"the first message", b"the second"]
# A tag behind the length, and one behind the message.
SIZES = [LENGTH.size + len(said) + 2 * Sealing.tag for said in SAID]


def test_who_passes_everything_on_hears_nothing_of_it():
    with relayed() as (relay, caller, listener):
        for channel, relayed_from, to in (
            (caller, relay.near, relay.far),
            (listener, relay.far, relay.near),
        ):
            other = listener if channel is caller else caller
            for said, size in zip(SAID, SIZES, strict=True):
                channel.send_bytes(said)
                heard = exactly(relayed_from, size)
                assert said not in heard
                to.sendall(heard)
                assert other.receive_bytes() == said
        assert TOKEN.encode() not in b"".join(relay.heard)
        assert b"welcome" not in relay.heard[3]


def bit(sealed, at):
    changed = bytearray(sealed)
    changed[at] ^= 1
    return bytes(changed)


# What the listener gets in place of the caller's two messages, given these and one of its own; and
# how many messages it takes.
ON_THE_WAY = {
    "changed": (lambda one, two, _: bit(one, -1), 0),
    "of another length": (lambda one, two, _: bit(one, 0), 0),
    "dropped": (lambda one, two, _: two, 0),
    "doubled": (lambda one, two, _: one + one, 1),
    "reordered": (lambda one, two, _: two + one, 0),
    "sent back": (lambda one, two, own: own, 0),
    "in clear": (lambda one, two, _: framed(SAID[0]) + one, 0),
    "a length and another message": (lambda one, two, _: one[:20] + two[20:] + two, 0),
    "cut off": (lambda one, two, _: one + two[:-1], 1),
    "cut off between messages": (lambda one, two, _: one, 1),
}


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_what_is_done_to_messages_on_the_way_ends_the_connection(name):
    change, taken = ON_THE_WAY[name]
    with relayed() as (relay, caller, listener):
        for said in SAID:
            caller.send_bytes(said)
            listener.send_bytes(said)
        sent = [exactly(relay.near, size) for size in SIZES]
        relay.far.sendall(change(*sent, exactly(relay.far, SIZES[0])))
        relay.far.shutdown(socket.SHUT_WR)
        for said in SAID[:taken]:
            assert listener.receive_bytes() == said
        with pytest.raises(Closed) as caught:
            listener.receive_bytes()
        assert (type(caught.value) is Closed) == name.startswith("cut off")
        # Nor is what was right accepted afterwards.
        with pytest.raises(Closed):
            listener.receive_bytes()


def test_what_was_recorded_of_one_connection_is_nothing_in_another():
    """Of the same caller, listener, token and place in the order."""
    with relayed() as (relay, caller, _):
        caller.send_bytes(SAID[0])
        recorded = exactly(relay.near, SIZES[0])
    with relayed() as (relay, _, listener):
        relay.far.sendall(recorded)
        with pytest.raises(Tampered, match="changed, dropped or repeated"):
            listener.receive_bytes()


# Greetings.

CLAIM, CHALLENGE, ANSWER, WELCOME = range(4)


def in_the(number, change):
    """What changes this message of a greeting; to nothing: hangs up."""
    return lambda at, said: change(said) if at == number else said


def payload(change):
    return lambda said: framed(change(said[LENGTH.size :]))


def claiming(**changes):
    def change(said):
        claim = msgspec.msgpack.decode(said[32:], type=greeting.Claim)
        return said[:32] + msgspec.msgpack.encode(msgspec.structs.replace(claim, **changes))

    return in_the(CLAIM, payload(change))


own_key = payload(lambda said: KeyShare().public + said[32:])
claim_1 = payload(lambda said: said[:32] + msgspec.msgpack.encode(HELLO))
proof_1 = payload(
    lambda said: said[:32] + hmac.digest(TOKEN.encode(), b"listener" + said[:32], "sha256")
)

CHANGED = {
    "a claim of version 1": in_the(CLAIM, claim_1),
    "not to be sealed": claiming(sealed=False),
    "another purpose": claiming(hello=msgspec.structs.replace(HELLO, purpose="events")),
    "another rank": claiming(hello=msgspec.structs.replace(HELLO, rank=0)),
    "another process": claiming(hello=msgspec.structs.replace(HELLO, pid=1)),
    "another place": claiming(at="127.0.0.1 1"),
    "the relay's key for the caller's": in_the(CLAIM, own_key),
    "the relay's key for the listener's": in_the(CHALLENGE, own_key),
    "a key without a secret": in_the(CHALLENGE, payload(lambda said: bytes(32) + said[32:])),
    "a proof of version 1": in_the(CHALLENGE, proof_1),
    "the listener's proof for the caller's": in_the(ANSWER, payload(lambda said: bytes(32))),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_greeting_that_was_changed_lets_nobody_in(name):
    with pytest.raises(Closed), relayed(CHANGED[name]):
        pass


def test_only_the_listener_says_welcome():
    change = in_the(WELCOME, lambda sealed: framed(b"welcome") + sealed)
    with pytest.raises(Closed), relayed(change, admitted=[HELLO]):
        pass


def test_a_greeting_for_another_listener_of_the_same_token_lets_nobody_in():
    """The listener is not where the caller has called."""
    with pytest.raises(Closed), relayed(known_as=()):
        pass
