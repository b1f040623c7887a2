# An image that runs afflux, for machines without Rust and Python:
#   docker build --tag afflux .
#   docker run --rm -v "$PWD:/work" afflux demo
# afflux runs as user 1000. If the folder belongs to somebody else, add --user "$(id -u):$(id -g)".

FROM rust:1-trixie AS tools
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/*

# What linting and testing need besides; .devcontainer uses this stage.
FROM tools AS dev
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends chromium npm tshark \
 && rm -rf /var/lib/apt/lists/* \
 && rustup component add clippy rustfmt \
 && useradd --create-home --shell /bin/bash --uid 1000 dev
USER 1000

FROM tools AS wheel
WORKDIR /src
COPY Cargo.toml Cargo.lock pyproject.toml Makefile README.md LICENSE ./
COPY .ci/dist.sh .ci/
COPY crates crates
COPY python python
RUN --mount=type=cache,target=/usr/local/cargo/registry make wheel

FROM python:3.13-slim-trixie
RUN --mount=type=bind,from=wheel,source=/src/dist,target=/dist \
    pip install --no-cache-dir /dist/*.whl \
 && useradd --create-home --uid 1000 afflux \
 && install --directory --owner=afflux --group=afflux /work
USER 1000
WORKDIR /work
ENTRYPOINT ["afflux"]
CMD ["--help"]
