"""Cold start: from process start to the first answer, beside a hello-world of the framework."""
