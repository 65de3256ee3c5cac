"""The server of the playground: access, answers, and errors for bad input."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tokkit
from asgi import Reply, call, running
from extras import extra
from tokkit.chat import ChatTemplate
from tokkit.cli.play import short_names
from tokkit.errors import ChatError, FormatError, OptionError
from tokkit.view.token_parts import TokenParts, with_parts
from tokkit.web import playground
from tokkit.web.errors import RequestError
from tokkit.web.play_results import KEPT, Asked, Results, Tokenizers

extra("starlette")
pytestmark = pytest.mark.parity
KEY = {"authorization": "Bearer key"}
TEXT = "low lower\nlowest newer\n"


@pytest.fixture(scope="module")
def tok() -> tokkit.Tokenizer:
    made = tokkit.train(iter([TEXT] * 4), vocab_size=270)
    return made.with_special_tokens({"<|end|>": 280})


def broken() -> tokkit.Tokenizer:
    raise FormatError("bad.json: \x1b[31mis no tokenizer")


@pytest.fixture
def ask(tok: tokkit.Tokenizer) -> Callable[..., Any]:
    def template_of(name: str) -> ChatTemplate:
        if name != "a":
            raise ChatError(f"{name} has no template")
        return ChatTemplate("{% for m in messages %}{{ m.content }}<|end|>{% endfor %}")

    def asked(*requests: Any, headers: dict[str, str] = KEY, **options: Any) -> Any:
        async def main() -> list[Reply]:
            app = playground(
                {"a": lambda: tok, "b": lambda: tok, "bad": broken}, key="key", template_of=template_of, body=1000
            )
            replies: list[Reply] = []
            async with running(app):
                for path, body in requests:
                    # {key} is that of the last answer.
                    key = replies[-1].json.get("key", "") if "{key}" in path else ""
                    replies.append(await call(app, path.replace("{key}", key), body, headers=headers, **options))
            return replies

        made = asyncio.run(main())
        return made[0] if len(made) == 1 else made

    return asked


@pytest.mark.parametrize("path", ["/", "/api/encode?tokenizer=a", "/api/why"])
@pytest.mark.parametrize("given", ["", "?token=kex", "?token="])
def test_without_the_token_the_answer_is_403(ask: Callable[..., Any], path: str, given: str) -> None:
    reply = ask((path + given.replace("?", "&" if "?" in path else "?"), None if path == "/" else b"low"), headers={})
    assert (reply.status, reply.json["error"]["code"]) == (403, "invalid_api_key")


def test_another_origin_another_name_and_a_large_body_are_refused(ask: Callable[..., Any]) -> None:
    path = "/api/encode?tokenizer=a"
    assert ask((path, b"low"), headers=KEY | {"origin": "http://evil.example"}).status == 403
    assert ask((path, b"low"), headers=KEY | {"origin": "http://127.0.0.1:9"}).status == 403
    assert ask((path, b"low"), headers=KEY | {"origin": "http://127.0.0.1:8000"}).status == 200
    assert ask((path, b"low"), headers=KEY | {"host": "evil.example"}).status == 403
    assert ask((path, b"a" * 6000), headers=KEY | {"content-length": "6000"}).status == 413
    assert ask((path, b"a" * 6000)).status == 413, "a length that is not stated is counted"


def test_the_page_may_call_its_server_alone_and_is_small(ask: Callable[..., Any]) -> None:
    reply = ask(("/?token=key", None), headers={})
    page = reply.data.decode()
    assert reply.status == 200
    assert len(page) < 150_000
    assert "connect-src 'self'; base-uri 'none'" in page
    assert "://" not in page.replace("http://www.w3.org", "")
    assert (reply.headers["referrer-policy"], reply.headers["x-frame-options"]) == ("no-referrer", "DENY")


def test_tokens_of_a_window_are_those_of_the_whole_text(ask: Callable[..., Any], tok: tokkit.Tokenizer) -> None:
    first, part = ask(
        ("/api/encode?tokenizer=a&tokenizer=b&from=0&to=100&limits=2,", TEXT.encode()),
        ("/api/range?key={key}&from=5&to=9", ""),
    )
    encoding = tok(TEXT)
    one, other = first.json["sets"]
    assert (one["ids"], one["n"], one["first"]) == (encoding.ids, len(encoding), 0)
    assert list(zip(one["starts"], one["ends"], strict=True)) == encoding.byte_offsets
    assert one["fits"] == encoding.byte_offsets[2][0]
    assert "fits" not in other
    parts = TokenParts(tok).of(encoding.ids)
    assert one["parts"] == {str(id_): list(made) for id_, made in parts.items()}
    assert one["tokens"] == {str(id_): [tok.vocab[id_].hex(), None, 0] for id_ in with_parts(encoding.ids, parts)}
    window = part.json["sets"][0]
    inside = [k for k, (a, b) in enumerate(encoding.byte_offsets) if b > 5 and a <= 9]
    assert (window["first"], window["ids"]) == (inside[0], [encoding.ids[k] for k in inside])


def test_all_ids_of_a_text_are_there_to_be_copied(ask: Callable[..., Any], tok: tokkit.Tokenizer) -> None:
    path = "/api/encode?tokenizer=a&tokenizer=bad&to=1"
    assert ask((path, TEXT.encode()), ("/api/ids?key={key}&tokenizer=a", ""))[1].json == {"ids": tok.encode(TEXT)}
    assert ask((path, TEXT.encode()), ("/api/ids?key={key}&tokenizer=bad", ""))[1].status == 404
    assert ask(("/api/ids?key=1&tokenizer=a", "")).json["error"]["code"] == "gone"


@pytest.mark.parametrize("given", [b"[{}]", b"tensor([{}])", b"{}"])
def test_ids_are_decoded_and_each_has_its_span(ask: Callable[..., Any], tok: tokkit.Tokenizer, given: bytes) -> None:
    ids = [*tok.encode("low na\u00efve"), 280, tok.vocab[b"\xc3"]]
    body = given.replace(b"{}", ", ".join(map(str, ids)).encode())
    reply = ask(("/api/decode?tokenizer=a&tokenizer=b&to=99", body)).json
    text, (only,) = base64.b64decode(reply["utf8"]), reply["sets"]
    assert (text, only["ids"], reply["same"]) == (tok.decode_bytes(ids), ids, False)
    for id_, start, end in zip(ids, only["starts"], only["ends"], strict=True):
        assert text[start:end] == tok.token_bytes(id_)
    assert ask(("/api/decode?tokenizer=a", str(tok.encode(TEXT)).encode())).json["same"] is True
    assert ask(("/api/decode?tokenizer=a", b"none")).json["utf8"] == ""
    for wrong in (b"281", b"-100", b"9" * 18):
        error = ask(("/api/decode?tokenizer=a", wrong))
        assert error.status == 400
        assert "no token has the id" in error.json["error"]["message"]


def test_a_change_of_a_text_gives_the_tokens_of_the_whole(ask: Callable[..., Any], tok: tokkit.Tokenizer) -> None:
    path = "/api/encode?tokenizer=a&to=9999"
    first, wrong, other = ask(
        (path, TEXT.encode()),
        (path + "&base={key}&at=4&removed=5", b" new \xc3"),
        (path + "&base=1&at=0&removed=0", b"x"),
    )  # fmt: skip
    assert first.json["key"] != "1", "a page of a server before this one has no key of it"
    assert (wrong.status, wrong.json["error"]["message"]) == (400, "byte 9 of the text is not UTF-8")
    assert (other.status, other.json["error"]["code"]) == (410, "gone")
    first, made, beyond = ask(
        (path, TEXT.encode()),
        (path + "&base={key}&at=4&removed=5", " é".encode()),
        (path + "&base={key}&at=20&removed=9", b"x"),
    )  # fmt: skip
    changed = (TEXT.encode()[:4] + " é".encode() + TEXT.encode()[9:]).decode()
    assert (made.json["sets"][0]["ids"], made.json["bytes"]) == (tok.encode(changed), len(changed.encode()))
    assert (beyond.status, beyond.json["error"]["message"]) == (
        400, f"at is 20, removed 9; the text has {len(changed.encode())} bytes",
    )  # fmt: skip
    _, grown = ask((path, b"a" * 999), (path + "&base={key}&at=0&removed=0", b"aa"))
    assert grown.status == 413


def test_special_tokens_count_where_that_is_asked(ask: Callable[..., Any]) -> None:
    off, on = ask(*((f"/api/encode?tokenizer=a&special={n}&from=0&to=99", b"low<|end|>") for n in (0, 1)))
    assert 280 not in off.json["sets"][0]["ids"]
    assert on.json["sets"][0]["ids"][-1] == 280
    assert on.json["sets"][0]["tokens"]["280"][2] == 1


def test_one_that_does_not_load_is_an_error_beside_the_others(ask: Callable[..., Any]) -> None:
    good, bad = ask(("/api/encode?tokenizer=a&tokenizer=bad&to=99", b"low")).json["sets"]
    assert good["n"] > 0
    assert bad == {"name": "bad", "error": "bad: bad.json: \\x1b[31mis no tokenizer"}


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/api/encode?to=9", b"a", 400, "0 tokenizers were given"),
        ("/api/encode?tokenizer=/etc/passwd", b"a", 404, "there is no tokenizer '/etc/passwd'"),
        ("/api/encode?tokenizer=a&from=-1", b"a", 400, "from is '-1'"),
        ("/api/encode?tokenizer=a", b"a\xff", 400, "byte 1 of the text is not UTF-8"),
        ("/api/range?key=77", b"", 410, "not kept any more"),
        ("/api/chat?tokenizer=a", b"[", 400, "must be a JSON object"),
        ("/api/chat?tokenizer=a", {"messages": ["x"]}, 400, "messages must be a list of objects"),
        ("/api/chat?tokenizer=b", {"messages": []}, 400, "b has no template"),
        ("/api/why", {"tokenizer": "a", "word": "a" * 201}, 400, "word has 201 characters"),
        ("/api/why", {"tokenizer": "a", "word": 1}, 400, "must be texts"),
        ("/api/why", {"tokenizer": "a", "word": "a", "temperature": 0}, 400, "temperature is 0"),
        ("/api/why", {"tokenizer": "bad", "word": "a"}, 422, "is no tokenizer"),
        ("/nothing", b"", 404, "Not Found"),
    ],
)
def test_bad_input_is_named(ask: Callable[..., Any], path: str, body: Any, status: int, message: str) -> None:
    reply = ask((path, body), method="POST")
    assert reply.status == status
    assert message in reply.json["error"]["message"]


def test_a_chat_marks_the_templates_special_tokens_and_not_those_of_a_message(ask: Callable[..., Any]) -> None:
    messages = [{"role": "user", "content": "low <|end|>"}, {"role": "user", "content": "low"}]
    made = ask(("/api/chat?tokenizer=a&to=999", {"messages": messages})).json
    assert made["text"] == "low <|end|><|end|>low<|end|>"
    (one,) = made["sets"]
    special = [one["starts"][k] for k, id_ in enumerate(one["ids"]) if id_ == 280]
    assert special == [11, 21]
    assert (one["starts"], one["ends"]) == (sorted(one["starts"]), sorted(one["ends"]))
    written = ask(("/api/chat?tokenizer=b&to=999", {"messages": messages, "template": "{{ messages[1].content }}!"}))
    assert written.json["text"] == "low!"
    unsafe = ask(("/api/chat?tokenizer=b&to=999", {"messages": [], "template": "{{ ''.__class__.mro() }}"}))
    assert unsafe.status == 400


def test_a_page_that_cancels_while_it_sends_is_no_failure_of_the_server(tok: tokkit.Tokenizer) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "POST", "path": "/api/encode", "raw_path": b"/api/encode", "scheme": "http",
        "query_string": b"tokenizer=a", "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer key")],
    }  # fmt: skip
    asyncio.run(playground({"a": lambda: tok}, key="key")(scope, receive, send))
    assert sent[0]["status"] == 499


def test_why_is_answered(ask: Callable[..., Any]) -> None:
    made = ask(("/api/why", {"tokenizer": "a", "word": "lowest"})).json
    assert made["kind"] == "bpe"
    assert [text for text, _ in made["tokens"]] == [tree["text"] for word in made["words"] for tree in word["trees"]]


def test_a_stale_text_is_not_encoded_and_only_the_last_are_kept(tok: tokkit.Tokenizer) -> None:
    results = Results(Tokenizers({"a": lambda: tok}))
    parts = [(b"low", False)]
    results.announce(Asked(("a",), client="page", number=2))
    with pytest.raises(RequestError, match="a newer text") as stale:
        results.encode(lambda _: parts, Asked(("a",), client="page", number=1))
    assert stale.value.status == 409
    keys = [results.encode(lambda _: parts, Asked(("a",), client="page", number=2))[0] for _ in range(KEPT + 1)]
    assert results.kept(keys[-1]).n_bytes == 3
    assert results.edited(keys[-1], 1, 1, b"an") == b"lanw"
    with pytest.raises(RequestError, match="not kept"):
        results.kept(keys[0])


def test_a_tokenizer_is_loaded_once_by_all_threads(tok: tokkit.Tokenizer) -> None:
    calls: list[int] = []

    def load() -> tokkit.Tokenizer:
        calls.append(1)
        return tok

    tokenizers = Tokenizers({"a": load})
    threads = [threading.Thread(target=tokenizers.get, args=("a",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [1]


def test_a_playground_needs_a_tokenizer_and_begins_with_those_that_are_shown(tok: tokkit.Tokenizer) -> None:
    with pytest.raises(OptionError, match="needs a tokenizer"):
        playground({}, key="key")
    names = {"a": lambda: tok, "</script>": lambda: tok}

    async def main() -> Reply:
        return await call(playground(names, key="key", shown=["</script>", "c"]), "/?token=key")

    page = asyncio.run(main()).data.decode()
    data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])
    assert (data["names"], data["shown"]) == (["a", "</script>"], ["</script>"])


def test_names_are_as_short_as_they_can_be_told_apart() -> None:
    assert short_names(["/x/gpt2", "/y/t5/", "/x/t5", "org/name"]) == {
        "gpt2": "/x/gpt2", "y/t5": "/y/t5/", "x/t5": "/x/t5", "name": "org/name",
    }  # fmt: skip
