DEMO = Examples/Demo
OUTPUT = demo-output
LOOKALIKE = $(shell swift build -c release --show-bin-path)/lookalike

.PHONY: help build test demo dependencies clean

help:
	@echo "make demo    index the sample covers, search for the sample photos, draw a contact sheet"
	@echo "make test    run the tests"
	@echo "make build   build the command, .build/release/lookalike"
	@echo "make clean   remove what was built"

dependencies:
	@Scripts/install-dependencies

build: dependencies
	swift build -c release --product lookalike

# In release, like the build: the tests run networks and resize large images.
test: dependencies
	swift test -c release

demo: build
	@mkdir -p $(OUTPUT)
	@rm -rf $(OUTPUT)/catalog
	$(LOOKALIKE) index $(DEMO)/covers/albums.csv --catalog $(OUTPUT)/catalog
	$(LOOKALIKE) search --catalog $(OUTPUT)/catalog --limit 3 --sheet $(OUTPUT)/contact-sheet.png --timings $(DEMO)/queries/*
	@echo
	@echo "The same on a picture: $(OUTPUT)/contact-sheet.png"

clean:
	rm -rf .build $(OUTPUT)
