"""Generator of the parts of the documentation site that are not files in `docs/`. The reference is
made from afflux itself when the site is built.

`mkdocs.yml` names `hook.py`. No generated page is written to `docs/`. Each module uses only modules
above it in this list:

- `schema`: the tables and keys of scenario files, from the JSON Schema
- `probe`: ranges that the schema lacks, found by giving extreme values to afflux
- `examples`: a value for every key, from scenarios of the repository where possible
- `keys`: a page per table
- `validated`: rows of `docs/validation.md` by model
- `models`: a page per model
- `commands`: a page per command
- `api`: pages about the Python package, with the names on each
- `outside`: pages and links outside `docs/`
- `notebooks`: notebooks as pages
- `hook`: the hook for MkDocs with all pages, the navigation and the version

`theme/` replaces parts of the theme.
"""
