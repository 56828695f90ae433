"""Instructor: a response in the shape of a class by a tool, whole and streamed, and a refusal."""

import json
import os

import instructor
from instructor.core import InstructorRetryException
from openai import OpenAI
from pydantic import BaseModel

url, key, model = os.environ["NARU_URL"], os.environ["NARU_KEY"], os.environ["NARU_MODEL"]


class Answer(BaseModel):
    """The text of the model."""

    text: str


def request(question: str) -> dict:
    """The arguments that both calls take."""
    messages = [{"role": "user", "content": question}]
    return {"model": model, "messages": messages, "response_model": Answer}


naru = instructor.from_openai(OpenAI(base_url=url, api_key=key))
response, completion = naru.create_with_completion(**request("서울 날씨는?"))
assert completion.usage.cost == completion.usage.prompt_tokens + 2 * completion.usage.completion_tokens

*_, streamed = naru.create_partial(**request("나루가 뭐야?"))

try:
    instructor.from_openai(OpenAI(base_url=url, api_key="sk-naru-v1-wrong")).create(**request("?"))
    refused = None
except InstructorRetryException as error:
    refused = 401 if "Error code: 401" in str(error) else None

print(json.dumps({"tool": response.text, "stream": streamed.text, "refused": refused}))
