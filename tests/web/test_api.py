"""The server of `tokkit serve`, in this process: answers, streams, errors, and clients that disconnect."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import generators
import model_folders
from asgi import Reply, call, running
from extras import extra
from tokkit import pipeline
from tokkit.errors import OptionError
from tokkit.web import Limits, model_server
from tokkit.web.running import bound

extra("starlette")
pytestmark = pytest.mark.parity

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|model|>{% endif %}"
)
HELLO = [{"role": "user", "content": "the cat"}]


@pytest.fixture(scope="module")
def generator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home = generators.folder(tmp_path_factory.mktemp("models") / "small-llama", max_position_embeddings=512)
    (home / "chat_template.jinja").write_text(TEMPLATE)
    return pipeline.load(home)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return pipeline.load(model_folders.write(tmp_path_factory.mktemp("models") / "small-bert"))


@pytest.fixture
def ask(generator: Any, encoder: Any) -> Callable[..., Reply]:
    def asked(path: str, body: Any = None, **options: Any) -> Reply:
        async def main() -> Reply:
            app = model_server(generator, encoder, limits=Limits(new_tokens=64, body=10_000), max_sequences=4)
            async with running(app):
                return await call(app, path, body, **options)

        return asyncio.run(main())

    return asked


def test_a_completion_is_what_the_model_writes(ask: Any, generator: Any) -> None:
    reply = ask("/v1/completions", {"model": "small-llama", "prompt": "the cat", "max_tokens": 12, "temperature": 0})
    whole = generator.generate_all(["the cat"], max_new_tokens=12)[0][0]
    n = len(generator.ids("the cat"))
    choice = reply.json["choices"][0]
    assert (reply.status, choice["text"], choice["finish_reason"]) == (200, whole.text, "length")
    usage = {"prompt_tokens": n, "completion_tokens": 12, "total_tokens": n + 12}
    assert reply.json["usage"] == usage | {"prompt_tokens_details": {"cached_tokens": 0}}
    assert (reply.json["object"], reply.json["model"]) == ("text_completion", "small-llama")


def test_a_chat_that_goes_on_is_not_read_again(generator: Any) -> None:
    long = [{"role": "user", "content": "the cat sat on the mat; " * 9}]
    body = {"messages": long, "max_tokens": 9, "temperature": 0}

    async def main(max_cache: int) -> list[dict[str, Any]]:
        app, made = model_server(generator, max_cache=max_cache), []
        async with running(app):
            made.append((await call(app, "/v1/chat/completions", body)).json)
            said = made[0]["choices"][0]["message"]["content"]
            more = [*long, {"role": "model", "content": said}, {"role": "user", "content": "the dog"}]
            made.append((await call(app, "/v1/chat/completions", body | {"messages": more})).json)
            options = {"stream": True, "stream_options": {"include_usage": True}}
            made.append((await call(app, "/v1/chat/completions", body | options)).events[-1])
        return made

    first, second, streamed = asyncio.run(main(1 << 30))
    n = first["usage"]["prompt_tokens"]
    assert second["usage"]["prompt_tokens_details"]["cached_tokens"] >= n
    assert streamed["usage"]["prompt_tokens_details"]["cached_tokens"] == n - 1
    assert all(each["usage"]["prompt_tokens_details"]["cached_tokens"] == 0 for each in asyncio.run(main(0)))


def test_several_prompts_and_texts_are_numbered_in_order(ask: Any, generator: Any) -> None:
    options = {"max_tokens": 6, "n": 2, "seed": 3, "temperature": 1.0}
    reply = ask("/v1/completions", {"prompt": ["the cat", [1, 2, 3]], **options})
    made = generator.generate_all(["the cat", [1, 2, 3]], max_new_tokens=6, n=2, seed=3, temperature=1.0)
    assert [choice["text"] for choice in reply.json["choices"]] == [text.text for texts in made for text in texts]
    assert [choice["index"] for choice in reply.json["choices"]] == [0, 1, 2, 3]


@pytest.mark.parametrize("stop", [None, "y"])
def test_a_stream_is_the_whole_in_parts(ask: Any, stop: str | None) -> None:
    body = {"prompt": ["the cat", "a dog"], "max_tokens": 20, "temperature": 0, "logprobs": 1, "stop": stop}
    whole = ask("/v1/completions", body).json
    reply = ask("/v1/completions", {**body, "stream": True, "stream_options": {"include_usage": True}})
    assert reply.headers["content-type"].startswith("text/event-stream")
    *parts, last = reply.events
    for choice in whole["choices"]:
        own = [event["choices"][0] for event in parts if event["choices"][0]["index"] == choice["index"]]
        assert "".join(part["text"] for part in own) == choice["text"]
        assert [part["finish_reason"] for part in own][-1] == choice["finish_reason"]
        for name in ("tokens", "token_logprobs", "text_offset"):
            assert [each for part in own for each in part["logprobs"][name]] == choice["logprobs"][name]
    assert (last["choices"], last["usage"]) == ([], whole["usage"])


def test_a_chat_is_written_by_the_template(ask: Any, generator: Any) -> None:
    body = {"messages": HELLO, "max_tokens": 9, "temperature": 0, "logprobs": True, "top_logprobs": 2}
    reply = ask("/v1/chat/completions", body).json
    choice = reply["choices"][0]
    made = generator.generate_all([generator.chat_ids(HELLO)], max_new_tokens=9, logprobs=True, top_logprobs=2)[0][0]
    assert choice["message"] == {"role": "assistant", "content": made.text}
    scores = choice["logprobs"]["content"]
    assert [score["logprob"] for score in scores] == pytest.approx(made.logprobs)
    assert [len(score["top_logprobs"]) for score in scores] == [2] * 9
    assert b"".join(bytes(score["bytes"]) for score in scores) == generator.tokenizer.decode_bytes(made.ids)
    first, *parts = ask("/v1/chat/completions", {**body, "stream": True}).events
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert "".join(part["choices"][0]["delta"].get("content", "") for part in parts) == made.text
    assert parts[-1]["choices"][0]["finish_reason"] == "length"


def test_a_text_has_the_form_that_is_asked_for(ask: Any) -> None:
    schema = {"type": "object", "properties": {"cat": {"enum": ["on", "mat"]}}, "required": ["cat"],
              "additionalProperties": False}  # fmt: skip
    form = {"type": "json_schema", "json_schema": {"name": "a_cat", "schema": schema}}
    body = {"messages": HELLO, "max_tokens": 40, "seed": 1, "response_format": form}
    choice = ask("/v1/chat/completions", body).json["choices"][0]
    assert json.loads(choice["message"]["content"])["cat"] in ("on", "mat")
    refused = ask(
        "/v1/completions", {"prompt": "a", "response_format": {**form, "json_schema": {"schema": {"if": {}}}}}
    )
    assert (refused.status, "if" in refused.json["error"]["message"]) == (400, True)


def test_an_end_token_ends_the_text_and_is_not_in_it(ask: Any) -> None:
    choice = ask("/v1/completions", {"prompt": "the", "logit_bias": {"300": 1000}, "logprobs": 1}).json["choices"][0]
    assert (choice["text"], choice["finish_reason"], choice["logprobs"]["tokens"]) == ("", "stop", [])


def test_vectors_are_the_encoders(ask: Any, encoder: Any) -> None:
    texts = ["the cat sat", "money", ""]
    reply = ask("/v1/embeddings", {"input": texts, "model": "small-bert"}).json
    expected = encoder.encode(texts)
    assert np.allclose([row["embedding"] for row in reply["data"]], expected, atol=1e-6)
    spelt = ask("/v1/embeddings", {"input": "the cat sat", "encoding_format": "base64"}).json["data"][0]["embedding"]
    assert np.allclose(np.frombuffer(base64.b64decode(spelt), "<f4"), expected[0], atol=1e-6)
    assert reply["usage"]["prompt_tokens"] == sum(len(encoder.tokenizer(text).ids) for text in texts)


def test_tokens_there_and_back(ask: Any, generator: Any) -> None:
    reply = ask("/tokenize", {"prompt": "the cat naïve"}).json
    assert (reply["tokens"], reply["max_model_len"]) == (generator.ids("the cat naïve").tolist(), 512)
    assert reply["count"] == len(reply["tokens"])
    assert ask("/detokenize", {"tokens": reply["tokens"]}).json["prompt"] == "the cat naïve"
    assert ask("/tokenize", {"messages": HELLO}).json["tokens"] == generator.chat_ids(HELLO)
    bert = ask("/tokenize", {"prompt": "the cat", "model": "small-bert"}).json["tokens"]
    assert (
        ask("/tokenize", {"prompt": "the cat", "model": "small-bert", "add_special": False}).json["tokens"]
        == bert[1:-1]
    )


def test_models_are_listed(ask: Any) -> None:
    assert [model["id"] for model in ask("/v1/models").json["data"]] == ["small-llama", "small-bert"]
    assert ask("/v1/models/small-bert").json["id"] == "small-bert"
    assert ask("/health").json == {"status": "ok", "models": ["small-llama", "small-bert"], "running": 0, "waiting": 0}


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/completions", {"prompt": "a", "model": "gpt-9"}, 404, "there is no model 'gpt-9'"),
        ("/v1/completions", {"prompt": "a", "model": "small-bert"}, 404, "there is small-llama"),
        ("/v1/completions", {"prompt": ""}, 400, "the prompt has no tokens"),
        ("/v1/completions", {"prompt": [5000]}, 400, "there is no token 5000"),
        ("/v1/completions", {"prompt": [1] * 512}, 400, "512 tokens, and the model has positions for 512"),
        ("/v1/completions", {"prompt": "a", "logit_bias": {"5000": 1}}, 400, "there is no token 5000"),
        ("/v1/completions", {"prompt": "a", "logit_bias": {"5000": 1}, "stream": True}, 400, "there is no token 5000"),
        ("/v1/completions", {"prompt": "a", "n": 5}, 400, "at most 4 texts at once"),
        ("/v1/completions", {"prompt": "a", "max_tokens": 65}, 400, "at most 64"),
        ("/v1/completions", b"x" * 10_001, 413, "10000 bytes"),
        ("/v1/chat/completions", {"messages": [{"role": "tool", "content": "a"}]}, 400, "no tools"),
        ("/tokenize", {"messages": HELLO, "model": "small-bert"}, 400, "no chat template"),
        ("/detokenize", {"tokens": [5000]}, 400, "5000"),
        ("/v1/images", {"a": 1}, 404, "POST /v1/images: Not Found"),
        ("/v1/models", {"a": 1}, 405, "Method Not Allowed"),
    ],
)
def test_errors_are_openais_objects(ask: Any, path: str, body: Any, status: int, message: str) -> None:
    reply = ask(path, body)
    assert (reply.status, list(reply.json), message in reply.json["error"]["message"]) == (status, ["error"], True)


def test_a_server_may_have_one_model(generator: Any, encoder: Any) -> None:
    async def status(app: Any, path: str) -> int:
        async with running(app):
            return (await call(app, path, {"prompt": "a", "input": "a"})).status

    assert asyncio.run(status(model_server(generator), "/v1/embeddings")) == 404
    assert asyncio.run(status(model_server(None, encoder), "/v1/completions")) == 400  # of the body: input
    with pytest.raises(OptionError, match="a server needs a model"):
        model_server()


def test_many_clients_at_once_get_their_own_texts(generator: Any) -> None:
    prompts = [[i, i + 1, i + 2] for i in range(12)]

    async def main() -> list[Reply]:
        app = model_server(generator, max_sequences=4)
        async with running(app):
            bodies = [{"prompt": prompt, "max_tokens": 8, "temperature": 0} for prompt in prompts]
            return await asyncio.gather(*(call(app, "/v1/completions", body) for body in bodies))

    texts = [reply.json["choices"][0]["text"] for reply in asyncio.run(main())]
    assert texts == [texts[0].text for texts in generator.generate_all(prompts, max_new_tokens=8)]


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather", "description": "The weather.",
        "parameters": {"properties": {"city": {"$ref": "#/$defs/city"}}, "required": ["city"],
                       "additionalProperties": False, "$defs": {"city": {"enum": ["Oslo", "Rome"]}}},
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model whose template writes tools, their calls and what they gave."""
    home = generators.folder(tmp_path_factory.mktemp("models") / "caller", max_position_embeddings=512)
    (home / "chat_template.jinja").write_text(
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}"
        "{% for call in m.tool_calls %}{{ call.function.arguments.city }}{% endfor %}{% endfor %}<|model|>"
    )
    return pipeline.load(home)


def test_a_tool_that_must_be_called_is_called(caller: Any) -> None:
    body = {"messages": HELLO, "tools": [WEATHER], "tool_choice": "required", "max_tokens": 60, "seed": 1}

    async def main() -> tuple[Reply, Reply, Reply]:
        app = model_server(caller)
        async with running(app):
            whole = await call(app, "/v1/chat/completions", body)
            streamed = await call(app, "/v1/chat/completions", body | {"stream": True})
            made = whole.json["choices"][0]["message"]
            told = {"role": "tool", "tool_call_id": made["tool_calls"][0]["id"], "content": "sunny"}
            return whole, streamed, await call(app, "/v1/chat/completions", body | {"messages": [*HELLO, made, told],
                                                                                    "tool_choice": "auto"})  # fmt: skip

    whole, streamed, after = asyncio.run(main())
    choice = whole.json["choices"][0]
    (made,) = choice["message"]["tool_calls"]
    assert (choice["finish_reason"], choice["message"]["content"], made["type"]) == ("tool_calls", None, "function")
    assert made["function"]["name"] == "get_weather"
    city = json.loads(made["function"]["arguments"])["city"]
    assert city in ("Oslo", "Rome")
    parts = [event["choices"][0] for event in streamed.events]
    assert all(not part["delta"].get("content") for part in parts)
    (said,) = parts[-1]["delta"]["tool_calls"]
    assert (said["index"], said["function"], parts[-1]["finish_reason"]) == (0, made["function"], "tool_calls")
    assert after.status == 200
    prompt = [*HELLO, {"role": "assistant", "content": "", "tool_calls": [{"function": {"arguments": {"city": city}}}]},
              {"role": "tool", "content": "sunny"}]  # fmt: skip
    assert after.json["usage"]["prompt_tokens"] == len(caller.chat_ids(prompt, tools=[WEATHER]))


def test_text_that_calls_nothing_is_the_answer(caller: Any) -> None:
    body = {"messages": HELLO, "tools": [WEATHER], "max_tokens": 30, "temperature": 0}

    async def main() -> tuple[Any, Any, Any]:
        app = model_server(caller)
        async with running(app):
            path = "/v1/chat/completions"
            return ((await call(app, path, body)).json, (await call(app, path, body | {"stream": True})).events,
                    (await call(app, path, body | {"tool_choice": "none"})).json)  # fmt: skip

    whole, events, without = asyncio.run(main())
    expected = caller.generate_all([caller.chat_ids(HELLO, tools=[WEATHER])], max_new_tokens=30)[0][0].text
    assert whole["choices"][0]["message"] == {"role": "assistant", "content": expected}
    assert "".join(event["choices"][0]["delta"].get("content", "") for event in events) == expected
    assert without["usage"]["prompt_tokens"] == len(caller.chat_ids(HELLO))


def test_a_template_without_a_place_for_tools_refuses_them(ask: Any) -> None:
    reply = ask("/v1/chat/completions", {"messages": HELLO, "tools": [WEATHER]})
    assert (reply.status, reply.json["error"]["param"]) == (400, "messages")
    assert "the model's chat template does not support tools" in reply.json["error"]["message"]


@pytest.fixture
def url(generator: Any, encoder: Any) -> Iterator[str]:
    """The address of a server that runs in a thread."""
    uvicorn = extra("uvicorn")
    at = bound("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(model_server(generator, encoder, key="secret"), log_level="warning"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[at])))
    thread.start()
    yield f"http://127.0.0.1:{at.getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


def test_the_official_client_runs(url: str, generator: Any, encoder: Any) -> None:
    openai = extra("openai")
    with openai.OpenAI(base_url=url, api_key="secret", max_retries=0) as client:
        assert [model.id for model in client.models.list()] == ["small-llama", "small-bert"]
        made = client.completions.create(model="small-llama", prompt="the cat", max_tokens=8, temperature=0)
        whole = generator.generate("the cat", max_new_tokens=8)
        assert made.choices[0].text == whole
        parts = client.completions.create(
            model="small-llama", prompt="the cat", max_tokens=8, temperature=0, stream=True
        )
        assert "".join(part.choices[0].text for part in parts) == whole
        chat = client.chat.completions.create(
            model="small-llama", messages=HELLO, max_completion_tokens=8, temperature=0, logprobs=True, top_logprobs=2,
            extra_body={"top_k": 3},
        )  # fmt: skip
        answer = generator.chat(HELLO, max_new_tokens=8)
        assert chat.choices[0].message.content == answer
        assert len(chat.choices[0].logprobs.content) == 8
        events = client.chat.completions.create(
            model="small-llama", messages=HELLO, max_completion_tokens=8, temperature=0, stream=True,
            stream_options={"include_usage": True},
        )  # fmt: skip
        seen = list(events)
        assert "".join(event.choices[0].delta.content or "" for event in seen if event.choices) == answer
        assert seen[-1].usage.completion_tokens == 8
        vectors = client.embeddings.create(model="small-bert", input=["the cat", "money"])
        assert np.allclose([row.embedding for row in vectors.data], encoder.encode(["the cat", "money"]), atol=1e-6)
        with pytest.raises(openai.NotFoundError, match="there is no model"):
            client.completions.create(model="gpt-9", prompt="a")
        with pytest.raises(openai.BadRequestError, match="temperature is -1"):
            client.completions.create(model="small-llama", prompt="a", temperature=-1)
    with (
        openai.OpenAI(base_url=url, api_key="other", max_retries=0) as client,
        pytest.raises(openai.AuthenticationError),
    ):
        client.models.list()


def test_a_port_in_use_and_a_host_that_is_not_here() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        with pytest.raises(OptionError, match=r"port \d+ of 127.0.0.1: .*choose another port"):
            bound("127.0.0.1", held.getsockname()[1])
    with pytest.raises(OptionError, match="host is 'no such host'"):
        bound("no such host", 0)
