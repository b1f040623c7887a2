"""The program `afflux`. It heeds signals before it imports the rest, which takes a while."""

from . import signals


def main() -> None:
    signals.install()
    from .cli import app
    from .terminal.completion import whole_words

    try:
        with whole_words():
            app()
    finally:
        signals.finish()


if __name__ == "__main__":
    main()
