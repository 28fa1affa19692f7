"""`make demo`: a small story remembered and asked about, through the real function, with no key and no account."""
