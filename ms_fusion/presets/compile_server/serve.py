"""What the two server scripts do: change into the private directory, put the guard in, serve."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
import warnings
from typing import Any

from ms_fusion.generator_limits import kernel_refusal

log = logging.getLogger("ms_fusion.presets.compile_server")


def serve(messager: str) -> None:
    """Run MindSpore's own kernel build server of that name with our guard.

    Args:
        messager: ``AkgMessager`` or ``AkgV2Messager``.
    """
    warnings.simplefilter("ignore")
    # MindSpore's generator writes logs and looks for tuning files in the working directory: both are kept from the user's
    os.chdir(os.environ["MS_COMPILER_CACHE_PATH"])
    _print_to("compile_server.log")
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    from mindspore._extends.remote import kernel_build_server as base

    if messager == "AkgMessager":
        from mindspore._extends.remote.kernel_build_server_akg import AkgMessager as server

        base.AkgBuilderBase.accept_json = _accept_guarded
    else:
        from mindspore._extends.remote.kernel_build_server_akg_v2 import AkgV2Messager as server
    base.AkgBuilderBase.compile = _compile_guarded
    server(int(sys.argv[1]), int(sys.argv[2])).run()


def _end_with(parent: int) -> None:
    """End when the process that this server works for is gone: MindSpore's own would wait on, for ever, with half a GiB."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def _print_to(file: str) -> None:
    """The generator prints remarks and whole stack traces; they are kept, but not in the user's terminal."""
    log_file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(log_file, 1)
    os.dup2(log_file, 2)
    os.close(log_file)


def _accept_guarded(builder: Any, text: str) -> Any:
    reason = kernel_refusal(text)
    if reason:
        builder.ms_fusion_refused = [*getattr(builder, "ms_fusion_refused", []), reason]
        return None
    return builder.akg_processor.accept_json(text)


def _compile_guarded(builder: Any) -> bool:
    """Build; a failure is answered, where MindSpore's own server would end and leave its client without any answer."""
    refused = getattr(builder, "ms_fusion_refused", [])
    builder.ms_fusion_refused = []
    try:
        built = not builder.akg_processor.argc or builder.akg_processor.compile(builder.attrs)
    except Exception as error:  # noqa: BLE001 - whatever the generator raises, the client needs an answer
        refused = [*refused, f"{type(error).__name__}: {str(error)[-300:]}"]
        built = False
    for reason in refused:
        log.info("a kernel is not built: %s", reason)
    return bool(built) and not refused
