"""`afflux export linux`."""

from ... import _core
from ...terminal.console import deliver, failures
from ..options import ScenarioFile
from .options import Force, Out


def export_linux(
    scenario: ScenarioFile,
    out: Out = None,
    force: Force = False,
) -> None:
    """Write the TCP settings of the hosts as sysctl lines, and as commands where Linux has no
    sysctl. Settings that Linux does not have are listed. If the hosts use several transports, the
    settings of the first are active and those of the others are comments."""
    from ...exchange import sysctl
    from ...files import toml

    with failures():
        groups = sysctl.of_scenario(toml.with_defaults(_core.load(scenario).resolved))
        deliver(sysctl.document(groups), out, force, sysctl.notes(groups))
