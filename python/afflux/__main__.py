"""Starts the program `afflux`. Signal handlers are installed before the slow imports."""

from . import signals, streams


def main() -> None:
    signals.install()
    streams.install()
    from .cli import app
    from .terminal.completion import whole_words

    try:
        with whole_words():
            try:
                app()
            finally:
                streams.finish()
    finally:
        signals.finish()


if __name__ == "__main__":
    main()
