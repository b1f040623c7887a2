"""Keys of scenario files: their places and the facts known about them."""
