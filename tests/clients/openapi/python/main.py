"""Calls a gateway with the client that openapi-generator has written. See ../go/main.go, which has the same input and output."""

import inspect
import json
import re
import sys

import openapi_client
from openapi_client import api as apis

given = json.load(sys.stdin)


def find_method(client: openapi_client.ApiClient, operation: str):
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower()
    for class_name in dir(apis):
        method = getattr(getattr(apis, class_name), f"{name}_with_http_info", None)
        if method is not None:
            return getattr(getattr(apis, class_name)(client), f"{name}_with_http_info")
    raise AttributeError(f"the client has no method {name}")


def read_arguments(method, call: dict) -> dict:
    """Reads the values of the parameters: parts of the path, then the body, and the query by name."""
    arguments = dict(call.get("query", {}))
    path = list(call.get("path", []))
    for name, parameter in inspect.signature(method).parameters.items():
        annotated = getattr(parameter.annotation, "__args__", (parameter.annotation,))[0]
        if hasattr(annotated, "__args__"):  # optional bodies
            annotated = annotated.__args__[0]
        if hasattr(annotated, "from_dict") and "body" in call:
            arguments[name] = annotated.from_dict(call["body"])
        elif path and parameter.default is inspect.Parameter.empty:
            arguments[name] = path.pop(0)
    return arguments


def attempt(call: dict) -> None:
    configuration = openapi_client.Configuration(host=given["base_url"], access_token=given["keys"][call["key"]])
    with openapi_client.ApiClient(configuration) as client:
        method = find_method(client, call["operation"])
        try:
            answer = method(**read_arguments(method, call))
        except openapi_client.ApiException as error:
            if error.status != call["status"]:
                raise
            if error.data is None:
                raise ValueError(f"the error is not read: {error.body}") from error
            return
        if answer.status_code != call["status"] or answer.data is None:
            raise ValueError(f"the status is {answer.status_code}: {answer.raw_data}")


for call in given["calls"]:
    try:
        attempt(call)
    except Exception as error:  # every failure is a fault
        print(json.dumps({"operation": call["operation"], "fault": f"{type(error).__name__}: {str(error)[:600]}"}))
print(json.dumps({"answers": len(given["calls"])}))
