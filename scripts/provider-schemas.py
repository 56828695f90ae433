"""Writes what the providers publish about their requests as JSON Schemas: test/providers/schemas.

    python3.11 scripts/provider-schemas.py --openai openapi.json [--only NAME …]

Installs the packages below into a temporary virtual environment, reads their models of a chat request
and keeps facts alone: names, types, unions, enumerations, patterns and limits; no sentence. OpenAI
publishes its document in the repository openai/openai-openapi and in no package: `--openai` names the
file. Each result states its source with the version. Rules that are only prose there are in
test/providers/rules.ts.
"""

import argparse, contextlib, gzip, importlib, importlib.abc, importlib.machinery, importlib.metadata
import json, os, re, subprocess, sys, tempfile, types, typing, zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TARGET = os.path.join(os.path.dirname(HERE), "test/providers/schemas")
PACKAGES = [
    "pydantic", "anthropic", "mistralai", "groq", "together", "fireworks-ai", "openai", "msgspec",
    "botocore", "google-ai-generativelanguage", "google-genai", "vllm", "sglang",
]
# Engines with their own dependencies: only their sources are read.
SOURCES_ONLY = {"vllm", "sglang", "fireworks-ai"}
PROSE = {"title", "description", "example", "examples", "default", "deprecated", "externalDocs"}


def facts(schema):
    """The schema without prose, defaults and extensions."""
    if isinstance(schema, list):
        return [facts(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for name, value in schema.items():
        if name in ("properties", "$defs", "patternProperties"):
            kept[name] = {key: facts(item) for key, item in value.items()}
        elif name in ("enum", "const", "required"):
            kept[name] = value
        elif name not in PROSE and not name.startswith("x-"):
            kept[name] = facts(value)
    if kept.pop("nullable", False):
        return {"anyOf": [kept, {"type": "null"}]}
    return kept


def closed(schema):
    """Objects with named members accept no others, as APIs that report unknown members do."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: closed(item) for key, item in schema.items()}
    if isinstance(made.get("properties"), dict) and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def reachable(root, defs):
    names, queue = {}, [root]
    while queue:
        for name in re.findall(r'"#/\$defs/([^"]+)"', json.dumps(queue.pop())):
            if name not in names:
                names[name] = defs[name]
                queue.append(defs[name])
    return dict(sorted(names.items()))


def write(name, source, schema):
    defs = schema.pop("$defs", {})
    lines = [f'"x-source": {json.dumps(source)}']
    lines += [f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in schema.items()]
    kept = reachable(schema, defs)
    body = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value, sort_keys=True)}" for key, value in kept.items())
    lines.append('"$defs": {\n' + body + "\n}" if kept else '"$defs": {}')
    os.makedirs(TARGET, exist_ok=True)
    with open(os.path.join(TARGET, f"{name}.json"), "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{name}: {source}, {len(kept)} definitions")


def version(package):
    return f"{package} {importlib.metadata.version(package)}"


def typed(request):
    from pydantic import TypeAdapter

    return TypeAdapter(request).json_schema()


def openai(path):
    with open(path) as file:
        document = json.load(file)
    text = json.dumps(document["components"]["schemas"]).replace("#/components/schemas/", "#/$defs/")
    defs = {key: facts(value) for key, value in json.loads(text).items()}
    properties, required = {}, set()

    def merge(schema):
        schema = defs[schema["$ref"].split("/")[-1]] if "$ref" in schema else schema
        for part in schema.get("allOf", []):
            merge(part)
        properties.update(schema.get("properties", {}))
        required.update(schema.get("required", []))

    merge({"$ref": "#/$defs/CreateChatCompletionRequest"})
    root = {"type": "object", "properties": properties, "required": sorted(required), "$defs": defs}
    write("openai", f"openai/openai-openapi, openapi.json {document['info']['version']}", closed(root))


def anthropic():
    from anthropic.types.message_create_params import MessageCreateParamsBase

    schema = typed(MessageCreateParamsBase)
    schema["properties"]["stream"] = {"type": "boolean"}
    # The newest types leave out what only the models before claude-opus-4-7 accept.
    for name in ("temperature", "top_p", "top_k"):
        schema["properties"].setdefault(name, {"type": "number"})
    # Naru offers tools of the client alone, not those that run at the provider.
    schema["properties"]["tools"] = {"type": "array", "items": {"$ref": "#/$defs/ToolParam"}}
    write("anthropic", version("anthropic"), closed(facts(schema)))


def mistral():
    from mistralai.client.models import ChatCompletionRequest

    text = json.dumps(facts(typed(ChatCompletionRequest)))
    schema = json.loads(re.sub(r'\{"\$ref": "#/\$defs/Unset"\}', '{"not": {}}', text))
    schema["properties"]["tools"] = {"type": "array", "items": {"$ref": "#/$defs/Tool"}}
    write("mistral", version("mistralai"), closed(schema))


def groq():
    from groq.types.chat.completion_create_params import CompletionCreateParams

    write("groq", version("groq"), closed(facts(typed(CompletionCreateParams))))


def together():
    from together.types.chat.completion_create_params import CompletionCreateParamsBase

    schema = typed(CompletionCreateParamsBase)
    schema["properties"]["stream"] = {"type": "boolean"}
    write("together", version("together"), closed(facts(schema)))


def fireworks():
    from fireworks.types.chat.completion_create_params import CompletionCreateParamsBase

    schema = typed(CompletionCreateParamsBase)
    schema["properties"]["stream"] = {"type": "boolean"}
    write("fireworks", "fireworks-ai " + SOURCE_VERSIONS["fireworks-ai"], closed(facts(schema)))


def bedrock():
    import botocore

    path = os.path.join(os.path.dirname(botocore.__file__), "data/bedrock-runtime/2023-09-30/service-2.json.gz")
    with gzip.open(path) as file:
        shapes = json.load(file)["shapes"]

    def read(name):
        shape = shapes[name]
        kind = shape["type"]
        if shape.get("document"):
            return {}
        if kind == "structure":
            members = {key: {"$ref": f"#/$defs/{value['shape']}"} for key, value in shape["members"].items()}
            made = {"type": "object", "properties": members, "additionalProperties": False}
            if shape.get("union"):
                made |= {"minProperties": 1, "maxProperties": 1}
            if shape.get("required"):
                made["required"] = shape["required"]
            return made
        if kind == "list":
            made = {"type": "array", "items": {"$ref": f"#/$defs/{shape['member']['shape']}"}}
            return made | bounds(shape, "minItems", "maxItems")
        if kind == "map":
            made = {"type": "object", "additionalProperties": {"$ref": f"#/$defs/{shape['value']['shape']}"},
                    "propertyNames": {"$ref": f"#/$defs/{shape['key']['shape']}"}}
            return made | bounds(shape, "minProperties", "maxProperties")
        if kind in ("string", "blob"):
            made = {"type": "string"}
            if "enum" in shape:
                made["enum"] = shape["enum"]
            if "pattern" in shape:
                made["pattern"] = f"^(?:{shape['pattern']})$"
            return made | (bounds(shape, "minLength", "maxLength") if kind == "string" else {})
        if kind in ("integer", "long", "float", "double"):
            made = {"type": "integer" if kind in ("integer", "long") else "number"}
            return made | bounds(shape, "minimum", "maximum")
        return {"type": "boolean"}

    def bounds(shape, low, high):
        return {name: shape[key] for name, key in ((low, "min"), (high, "max")) if key in shape}

    defs = {name: read(name) for name in shapes}
    schema = {**defs["ConverseRequest"], "$defs": defs}
    # The model is in the path of the request.
    schema["properties"] = {key: value for key, value in schema["properties"].items() if key != "modelId"}
    schema.pop("required", None)
    write("bedrock", version("botocore"), schema)


def google():
    from google.ai.generativelanguage_v1beta import types as models
    from google.protobuf.descriptor import FieldDescriptor as Field

    defs = {}

    def message(descriptor):
        name = descriptor.full_name
        if name in ("google.protobuf.Struct",):
            return {"type": "object"}
        if name == "google.protobuf.Value":
            return {}
        if name in ("google.protobuf.Duration", "google.protobuf.Timestamp"):
            return {"type": "string"}
        short = name.split("v1beta.")[-1]
        if short not in defs:
            defs[short] = None
            members = {}
            for field in descriptor.fields:
                one = of(field)
                members[field.json_name] = {"type": "array", "items": one} if field.is_repeated and not is_map(field) else one
                # The API reads both spellings.
                members[field.name] = members[field.json_name]
            groups = [[field.json_name for field in group.fields] for group in descriptor.oneofs if len(group.fields) > 1]
            made = {"type": "object", "properties": members, "additionalProperties": False}
            if groups:
                made["allOf"] = [{"not": {"required": [a, b]}} for group in groups
                                 for at, a in enumerate(group) for b in group[at + 1:]]
            defs[short] = made
        return {"$ref": f"#/$defs/{short}"}

    def is_map(field):
        return field.message_type is not None and field.message_type.GetOptions().map_entry

    def of(field):
        if is_map(field):
            return {"type": "object", "additionalProperties": of(field.message_type.fields_by_name["value"])}
        if field.message_type is not None:
            return message(field.message_type)
        if field.enum_type is not None:
            words = [value.name for value in field.enum_type.values]
            return {"enum": words + [word.lower() for word in words]}
        return {
            Field.TYPE_STRING: {"type": "string"},
            Field.TYPE_BYTES: {"type": "string", "pattern": "^[A-Za-z0-9+/_-]*=*$"},
            Field.TYPE_BOOL: {"type": "boolean"},
            Field.TYPE_FLOAT: {"type": "number"},
            Field.TYPE_DOUBLE: {"type": "number"},
            Field.TYPE_INT64: {"type": ["integer", "string"]},
        }.get(field.type, {"type": "integer"})

    from google.genai.types import ThinkingLevel

    root = models.GenerateContentRequest.pb(models.GenerateContentRequest()).DESCRIPTOR
    reference = message(root)
    # The protocol of the older package lacks it.
    levels = [level.value for level in ThinkingLevel]
    defs["ThinkingConfig"]["properties"]["thinkingLevel"] = {"enum": levels + [level.lower() for level in levels]}
    schema = {**defs[reference["$ref"].split("/")[-1]], "$defs": defs}
    write("google", version("google-ai-generativelanguage") + ", " + version("google-genai"), schema)


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules of an engine that are not needed for its request models: every name in them is Any."""

    def __init__(self, package, real):
        self.package, self.real = package, real

    def find_spec(self, name, path, target=None):
        if name.split(".")[0] != self.package or name in self.real:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = lambda name: (_ for _ in ()).throw(AttributeError(name)) if name.startswith("__") else stand_in(name)
        return module

    def exec_module(self, module):
        pass


def stand_in(name):
    if name == "init_logger":
        return lambda *_: types.SimpleNamespace(**{key: lambda *_, **__: None for key in ("debug", "info", "warning", "warning_once", "error")})
    if name.endswith("Error"):
        return type(name, (Exception,), {})
    if name.isupper():
        return 2**31
    if name[0].islower():
        return lambda *_, **__: None
    return typing.Any


def load(package, files, folder):
    names = {file.removesuffix(".py").replace("/", "."): file for file in files}
    sys.meta_path.insert(0, Absent(package, set()))
    for name, file in names.items():
        spec = importlib.util.spec_from_file_location(name, os.path.join(folder, file))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    sys.meta_path.pop(0)
    return module


def engine(package, name, files, folder):
    module = load(package, files, os.path.join(folder, package))
    schema = module.ChatCompletionRequest.model_json_schema(mode="validation")
    write(name, f"{package} {SOURCE_VERSIONS[package]}", facts(schema))


SOURCE_VERSIONS = {}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--openai")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside is None:
        with tempfile.TemporaryDirectory() as folder:
            install(folder)
            python = os.path.join(folder, "venv/bin/python")
            sys.exit(subprocess.run([python, __file__, *sys.argv[1:], "--inside", folder]).returncode)
    with open(os.path.join(args.inside, "versions.json")) as file:
        SOURCE_VERSIONS.update(json.load(file))
    sys.path.insert(0, os.path.join(args.inside, "fireworks-ai"))
    jobs = {
        "anthropic": anthropic, "bedrock": bedrock, "google": google, "mistral": mistral, "groq": groq,
        "together": together, "fireworks": fireworks,
        "vllm": lambda: engine("vllm", "vllm", [
            "vllm/entrypoints/serve/engine/protocol.py",
            "vllm/entrypoints/generate/base/protocol.py",
            "vllm/entrypoints/openai/chat_completion/protocol.py",
        ], args.inside),
        "sglang": lambda: engine("sglang", "sglang", ["sglang/srt/entrypoints/openai/protocol.py"], args.inside),
    }
    if args.openai:
        jobs["openai"] = lambda: openai(args.openai)
    for name, job in jobs.items():
        if not args.only or name in args.only:
            job()


def install(folder):
    venv = os.path.join(folder, "venv")
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    pip = [os.path.join(venv, "bin/pip"), "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", *(name for name in PACKAGES if name not in SOURCES_ONLY)], check=True)
    versions = {}
    for name in SOURCES_ONLY:
        wheels = os.path.join(folder, "wheels")
        subprocess.run([*pip, "download", "--no-deps", "-d", wheels, name], check=True)
        wheel = next(file for file in os.listdir(wheels) if file.startswith(name.replace("-", "_")))
        versions[name] = wheel.split("-")[1]
        with zipfile.ZipFile(os.path.join(wheels, wheel)) as archive:
            archive.extractall(os.path.join(folder, name), [
                entry for entry in archive.namelist() if entry.endswith(".py") and "/models/" not in entry])
    with open(os.path.join(folder, "versions.json"), "w") as file:
        json.dump(versions, file)


main()
