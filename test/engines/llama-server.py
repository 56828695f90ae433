"""llama.cpp's server from xllamacpp, with the flags of llama-server that the tests use."""

import argparse
import signal
import threading

import xllamacpp
flags = argparse.ArgumentParser(prog="llama-server", allow_abbrev=False)
flags.add_argument("-m", required=True)
flags.add_argument("--port", type=int, required=True)
flags.add_argument("--api-key")
flags.add_argument("-np", type=int, default=4)
given = flags.parse_args()
params = xllamacpp.CommonParams()
params.model.path = given.m
params.port = given.port
params.n_ctx = 8192
params.n_parallel = given.np
if given.api_key:
    params.api_keys = [given.api_key]
server = xllamacpp.Server(params)
stop = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stop.set())
stop.wait()
