"""The short form of scripts/soak: millions of pairs at a rate far below what two cores carry."""

import pytest

from harness import BUILD, ROOT, Process


@pytest.mark.fullspeed
@pytest.mark.parametrize("request_bytes,reply_bytes", [(18, 18), (1472, 100)])
def test_soak(request_bytes, reply_bytes):
    run = Process("--pairs", 2_000_000, "--rate", 250_000, "--drain", 3, "--request",
                  request_bytes, "--reply", reply_bytes, program=ROOT / "scripts/soak", env={"PMX_BUILD": str(BUILD)})
    try:
        said = run.wait(300).expect(0).json
    finally:
        run.end()
    assert said["exact"] is True
    assert said["sent"] + said["unsent"] == said["target"] == 2_000_000
    assert said["sent"] == said["returned"] > 0
