"""Runs a session of google-genai, synchronous and asynchronous, through each gateway.

Gets {"sessions": [{"base_url", "key", "model", "id"}], "embeddings": {"base_url", "key", "model"}} on standard input. Each step is
one request, in the order of the turns in tests/clients/python.full.test.ts. Prints one JSON object per session.
"""

import asyncio
import json
import sys

from google import genai
from google.genai import errors, types
from pydantic import BaseModel

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010804000000b51c0c020000000b4944415478da63fcff1f0003030200efbfa7db0000000049454e44ae426082"
)
WEATHER = types.FunctionDeclaration(
    name="get_weather",
    description="The weather of a city.",
    parameters=types.Schema(type="OBJECT", properties={"city": types.Schema(type="STRING")}, required=["city"]),
)


class City(BaseModel):
    """The shape of a structured answer."""

    city: str


def get_weather(city: str) -> str:
    """Returns the weather of a city."""
    return f"sunny in {city}"


def connect(gateway: dict) -> genai.Client:
    options = types.HttpOptions(base_url=gateway["base_url"].removesuffix("/v1"))
    return genai.Client(api_key=gateway["key"], http_options=options)


def thinking_with_tools() -> types.GenerateContentConfig:
    return types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[WEATHER])],
        thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=2000),
    )


def results_of(response: types.GenerateContentResponse) -> list[types.Part]:
    return [
        types.Part(
            function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": "sunny"})
        )
        for call in response.function_calls or []
    ]


def describe(error: errors.APIError) -> dict:
    return {"kind": type(error).__name__, "status": error.code, "word": error.status, "message": error.message}


def run_session(client: genai.Client, model: str) -> dict:
    models = client.models
    done: dict = {"text": models.generate_content(model=model, contents="Well?").text}
    done["streamed"] = "".join(each.text or "" for each in models.generate_content_stream(model=model, contents="Well?"))

    # A chat keeps each event of a stream as it came, and sends its signatures back.
    chat = client.chats.create(model=model, config=thinking_with_tools())
    events = list(chat.send_message_stream("Weather?"))
    parts = [part for event in events for part in (event.parts or [])]
    done["thoughts"] = "".join(part.text or "" for part in parts if part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    done["calls"] = [f"{call.name} {json.dumps(call.args)}" for call in calls]
    results = [
        types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response={"output": "sunny"}))
        for call in calls
    ]
    done["answer"] = chat.send_message(results).text
    done["later"] = chat.send_message("And now?").text
    done["roles"] = [content.role for content in chat.get_history(curated=True)]

    # The client calls the function itself.
    config = types.GenerateContentConfig(tools=[get_weather])
    done["automatic"] = models.generate_content(model=model, contents="Weather?", config=config).text
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=City)
    parsed = models.generate_content(model=model, contents="Where?", config=config).parsed
    done["structured"] = parsed.city if isinstance(parsed, City) else repr(parsed)
    image = types.Part.from_bytes(data=PIXEL, mime_type="image/png")
    done["seen"] = models.generate_content(model=model, contents=[image, "What is it?"]).text
    for name, slug in (("busy", model), ("unknown", "unknown/model")):
        try:
            models.generate_content(model=slug, contents="Well?")
        except errors.APIError as error:
            done[name] = describe(error)
    stream = models.generate_content_stream(model=model, contents="Well?")
    done["cancelled"] = bool(next(stream).text)
    stream.close()
    done["tokens"] = models.count_tokens(model=model, contents="Well?").total_tokens
    done["models"] = model in [each.name.removeprefix("models/") for each in models.list()]
    return done


async def run_async(client: genai.Client, model: str) -> dict:
    models = client.aio.models
    stream = await models.generate_content_stream(model=model, contents="Well?")
    done: dict = {"streamed": "".join([each.text or "" async for each in stream])}

    async def read_until_cancelled() -> None:
        async for _ in await models.generate_content_stream(model=model, contents="Well?"):
            begun.set()

    begun = asyncio.Event()
    task = asyncio.create_task(read_until_cancelled())
    await begun.wait()
    task.cancel()
    done["cancelled"] = isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
    return done


def embed(client: genai.Client, model: str) -> dict:
    models = client.models
    one = models.embed_content(model=model, contents="a red fox")
    config = types.EmbedContentConfig(task_type="RETRIEVAL_DOCUMENT", output_dimensionality=8)
    many = models.embed_content(model=model, contents=["a red fox", "a blue bird"], config=config)
    return {"vectors": [len(each.values) for each in (one.embeddings + many.embeddings)]}


given = json.load(sys.stdin)
for gateway in given["sessions"]:
    with connect(gateway) as client:
        done = run_session(client, gateway["model"])
        print(json.dumps({"id": gateway["id"], **done, "async": asyncio.run(run_async(client, gateway["model"]))}))
with connect(given["embeddings"]) as client:
    print(json.dumps(embed(client, given["embeddings"]["model"])))
