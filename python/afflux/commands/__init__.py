"""Commands of `afflux`, one per file, registered in `cli`."""
