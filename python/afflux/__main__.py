"""The program `afflux`. It heeds signals before it imports the rest, which takes a while."""

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
