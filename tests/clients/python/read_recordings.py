"""Reads recorded answers of providers through the gateway with the official clients, which validate every field.

Gets {"base_url", "key", "models"} on standard input. Prints one JSON object per answer that a client cannot read.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import anthropic
import openai
from google import genai
from google.genai import errors, types
from pydantic import ValidationError

given = json.load(sys.stdin)
# The clients validate what they read only with this option. Without it, a wrong answer fails later, in the application.
options = {"api_key": given["key"], "max_retries": 0, "_strict_response_validation": True}
vendor = openai.OpenAI(base_url=given["base_url"], **options)
claude = anthropic.Anthropic(base_url=given["base_url"].removesuffix("/v1"), **options)
google = genai.Client(
    api_key=given["key"], http_options=types.HttpOptions(base_url=given["base_url"].removesuffix("/v1"))
)
messages = [{"role": "user", "content": "Hello"}]


def responses(model: str) -> None:
    vendor.responses.create(model=model, input="Hello")


def responses_streamed(model: str) -> None:
    for _ in vendor.responses.create(model=model, input="Hello", stream=True):
        pass


def chat(model: str) -> None:
    vendor.chat.completions.create(model=model, messages=messages)


def chat_streamed(model: str) -> None:
    usage = {"include_usage": True}
    for _ in vendor.chat.completions.create(model=model, messages=messages, stream=True, stream_options=usage):
        pass


def messages_whole(model: str) -> None:
    claude.messages.create(model=model, messages=messages, max_tokens=500)


def messages_streamed(model: str) -> None:
    with claude.messages.stream(model=model, messages=messages, max_tokens=500) as stream:
        stream.get_final_message()


def gemini(model: str) -> None:
    google.models.generate_content(model=model, contents="Hello")


def gemini_streamed(model: str) -> None:
    for _ in google.models.generate_content_stream(model=model, contents="Hello"):
        pass


def attempt(call, model: str) -> str | None:
    """Returns why the client cannot read the answer."""
    try:
        call(model)
    except (openai.APIResponseValidationError, anthropic.APIResponseValidationError) as error:
        return f"{json.dumps(error.body)[:400]} {error}"
    except (openai.APIError, anthropic.APIError, errors.APIError):
        return None  # an error of the provider, which the client understands
    except (ValidationError, ValueError, TypeError, AttributeError, KeyError, IndexError) as error:
        return f"{type(error).__name__}: {error}"
    return None


def models(_: str) -> None:
    next(iter(vendor.models.list()))
    next(iter(claude.models.list()))


calls = [responses, responses_streamed, chat, chat_streamed, messages_whole, messages_streamed, gemini, gemini_streamed]
tasks = [(models, "")] + [(call, model) for model in given["models"] for call in calls]
with ThreadPoolExecutor(4) as pool:
    for (call, model), fault in zip(tasks, pool.map(lambda task: attempt(*task), tasks)):
        if fault is not None:
            print(json.dumps({"model": model, "call": call.__name__, "fault": fault[:1500]}))
print(json.dumps({"answers": len(tasks)}))
