"""What the documentation site has beyond the pages of `docs/`: the reference, which is made from afflux itself when the site is built.

`mkdocs.yml` names `hook.py`. No generated page is written to `docs/`. The modules, each of which uses only those above it:

- `schema`: the tables and keys of scenario files, from the JSON Schema
- `probe`: values at their limits, given to afflux, for ranges that the schema does not have
- `examples`: a value for every key, from scenarios of the repository where they have it
- `keys`: a page per table
- `validated`: rows of `docs/validation.md` by model
- `models`: a page per model
- `commands`: a page per command
- `api`: pages about the Python package, and which name is on which
- `outside`: pages and links that lead out of `docs/`
- `notebooks`: notebooks as pages
- `hook`: all of it for MkDocs, the navigation and the version

`theme/` replaces parts of the theme.
"""
