DEMO = Examples/Demo
OUTPUT = demo-output
# Shared by the packages in Extras, whose products are behind traits of the package in the root. They all ask for the
# same traits, so that the core is built once for them.
EXTRAS_BUILD = .build-extras
# The plan of one package must not be taken for that of the next, whose tests would not be run.
EXTRAS_FLAGS = -c release --scratch-path $(EXTRAS_BUILD) --disable-build-manifest-caching
# How the package in the root is built, by the scripts too. With SHARED=1, as in CI, it has the folder and the traits of
# those in Extras, so that the core is built once for all; it needs their libraries then. The manifests read
# LOOKALIKE_SHARED.
export BUILD_FLAGS = $(if $(SHARED),$(EXTRAS_FLAGS),-c release $(STATIC_FLAGS))
# Swift's libraries within each program, which then starts in half the time. “swift run” has no flag of its own for it.
STATIC_FLAGS = $(if $(filter Linux,$(shell uname)),-Xswiftc -static-stdlib)
export LOOKALIKE_SHARED = $(if $(SHARED),1)
# These are about the default traits alone, or those of the macros.
plain live-catalog test-macros apple-examples test-by-url: export LOOKALIKE_SHARED =
# The core with default traits, in “.build”: with SHARED=1 nothing else has it, and a debug build is soon made.
PLAIN_FLAGS = $(if $(SHARED),-c debug -debug-info-format none -Xcc -O2 $(STATIC_FLAGS),$(BUILD_FLAGS))
# In release: the tests run networks and resize large images. Testable imports would compile everything a second time
# with other flags, and no test needs them.
TEST_FLAGS = --disable-testable-imports
# The macros and what uses them: swift-syntax takes ten minutes to optimize, on one core.
MACRO_FLAGS = -c debug --scratch-path .build-macros --disable-build-manifest-caching \
	-debug-info-format none -Xcc -O2
LOOKALIKE = $(shell swift build $(BUILD_FLAGS) --show-bin-path)/lookalike
# The service without HTTPS of its own, which would build BoringSSL for minutes; “make deb” has it.
SERVICE_FLAGS = --package-path Extras/Service $(EXTRAS_FLAGS) --disable-default-traits
IMPORT_FLAGS = --package-path Extras/ONNXImport $(EXTRAS_FLAGS)
# The functions of lookalike.h alone are exported.
LIBRARY_FLAGS = -Xlinker --version-script=$(CURDIR)/Sources/CInterface/exports.map -Xlinker -soname=liblookalike.so
LOOKALIKE_IMPORT = $(shell swift build $(IMPORT_FLAGS) --show-bin-path)/lookalike-import
LOOKALIKE_SERVE = $(shell swift build $(SERVICE_FLAGS) --show-bin-path)/lookalike-serve
PAGE_TEST = .venv-page/bin/python

# Before Swift 6.4 SwiftPM passes the enabled traits to the compiler in the order of a hash table, another one in every
# process, so that each new plan compiles all targets again (swiftlang/swift-package-manager, issue 10525).
export SWIFT_DETERMINISTIC_HASHING = 1

.PHONY: help build service serve release test-service deb test-deb test-container wheel test-integrations importer \
	library test-c-interface test test-core test-macros check-networks demo example live-catalog apple-examples test-by-url \
	plain smoke-training bench bench-quick bench-concurrency fuzz sanitize faults service-faults test-emulated lint \
	man docs ci-all dependencies extra-dependencies clean

help:
	@echo "make demo            index the sample images, search for the sample photos, write a contact sheet"
	@echo "make serve           serve the sample catalog, and print the URL of a page to search it"
	@echo "make example         test the example programs, and run the example app on a sample screenshot"
	@echo "make test-by-url     depend on the products from outside, by the URL of a clone"
	@echo "make test            run the tests"
	@echo "make check-networks  compare imported networks with onnxruntime"
	@echo "make build           build the command, .build/release/lookalike"
	@echo "make service         build the service beside it, lookalike-serve"
	@echo "make importer        build the import of ONNX networks beside it, lookalike-import"
	@echo "make library         build the library with the C interface beside it, liblookalike.so"
	@echo "make test-c-interface  test the library from C, and run its examples"
	@echo "make test-service    test the service, its page in Chromium, its interface and its examples"
	@echo "make deb             build a Debian package of all programs, $(OUTPUT)/lookalike_*.deb"
	@echo "make test-deb        install it into a bare Debian 12, and use it there"
	@echo "make wheel           build a Python wheel of the command and the module, $(OUTPUT)/wheel/"
	@echo "make test-integrations  test the wheel in a bare environment, Milvus, and the Spark job; SMALL=1"
	@echo "make test-container  build a container image of it with podman, and use it"
	@echo "make release         make and check all that a release has, $(OUTPUT)/release"
	@echo "make smoke-training  test the training recipe, and run it for a minute on generated images"
	@echo "make bench           compare with OpenCV, Pillow, onnxruntime, OpenVINO, FAISS and USearch"
	@echo "make bench-quick     compare with the limits of the machine, in a minute"
	@echo "make bench-concurrency  many searches in flight, beside other tasks"
	@echo "make fuzz            fuzz what reads files, SECONDS=60 per harness"
	@echo "make sanitize        run the tests under a sanitizer, SANITIZER=address, thread or undefined"
	@echo "make faults          break commands that write: failing calls, kills, loss of power; SAMPLE=50"
	@echo "make service-faults  break the service while clients write: failing calls, kills; SAMPLE=50"
	@echo "make test-emulated   compare the kernels, those for Arm under emulation, with the portable ones"
	@echo "make lint            check the format of Swift, C and Python"
	@echo "make ci-all          all steps of CI, those too whose sources have not changed"
	@echo "make man             write the man pages of all programs, $(OUTPUT)/*.1"
	@echo "make docs            build the documentation, $(OUTPUT)/docs"
	@echo "make clean           remove what was built"

dependencies:
	@Scripts/install-dependencies

# The libraries of the products in Extras: calendars, XML, barcodes and text.
extra-dependencies:
	@Scripts/install-dependencies libical-dev libxml2-dev libzxing-dev libtesseract-dev tesseract-ocr-eng

build: dependencies
	swift build $(BUILD_FLAGS) --product lookalike

test: test-core test-macros

# The tests of all packages share one build of the core. It has Swift's libraries as Swift Testing has them, beside it.
test-core: SHARED = 1
# Those that run commands do so one after another: all tests at once have thousands of files open, and with more than
# some 1,300 Process of Foundation may crash (swift-corelibs-foundation, pull request 5472).
test-core: extra-dependencies
	swift test $(BUILD_FLAGS) $(TEST_FLAGS) --skip CommandTests
	swift test $(BUILD_FLAGS) $(TEST_FLAGS) --no-parallel --filter CommandTests
	Scripts/check-apple-sources
	swift test $(EXTRAS_FLAGS) $(TEST_FLAGS) --package-path Extras/SystemStores
	swift test $(EXTRAS_FLAGS) $(TEST_FLAGS) --package-path Extras/Barcodes
	swift test $(EXTRAS_FLAGS) $(TEST_FLAGS) --package-path Extras/TextRecognition
	swift test $(IMPORT_FLAGS) $(TEST_FLAGS)

test-macros: extra-dependencies
	swift test $(MACRO_FLAGS) --package-path Extras/VisualSearchMacros
	swift test $(MACRO_FLAGS) --package-path Extras/AppleNames

# The import of networks, beside the command, which runs it as “lookalike model import”.
importer: build
	swift build $(IMPORT_FLAGS) --product lookalike-import
	@[ $(LOOKALIKE_IMPORT) -ef $(dir $(LOOKALIKE))lookalike-import ] || ln -sf $(LOOKALIKE_IMPORT) $(dir $(LOOKALIKE))

# The library with the C interface, beside the command. Sources/CLookalike/include has its header.
library: build
	swift build $(BUILD_FLAGS) $(LIBRARY_FLAGS) --product lookalike-c
	ln -sf liblookalike-c.so $(dir $(LOOKALIKE))liblookalike.so

test-c-interface: library
	Scripts/test-c-interface $(dir $(LOOKALIKE))liblookalike.so

# Imported networks against onnxruntime; installs PyTorch into .venv-networks.
check-networks: dependencies
	Scripts/check-networks $(NETWORKS)

example: live-catalog apple-examples test-by-url

# A catalog that a server keeps, which has the core of the command's build.
live-catalog: dependencies
	@rm -rf $(OUTPUT)/live-catalog
	swift run $(PLAIN_FLAGS) --package-path Examples/LiveCatalog --scratch-path .build \
		--disable-build-manifest-caching LiveCatalog $(DEMO)/covers $(OUTPUT)/live-catalog
	@rm -f .build/release.yaml .build/debug.yaml # The plan is that of the example.

# The example app: a visual search from a screenshot to the app's screens; and the programs that compile against Apple's
# modules, too.
apple-examples: extra-dependencies
	@mkdir -p $(OUTPUT)
	@rm -rf $(OUTPUT)/album-search
	swift test $(MACRO_FLAGS) --package-path Examples/VisualIntelligence
	printf '1\nm\nq\n' | swift run $(MACRO_FLAGS) --package-path Examples/VisualIntelligence Host \
		music $(DEMO)/covers $(DEMO)/queries/screenshot-2.png $(OUTPUT)/music.html
	printf '1\nq\n2\n' | swift run $(MACRO_FLAGS) --package-path Examples/VisualIntelligence Host \
		landmarks $(DEMO)/covers $(DEMO)/queries/photo-2.jpg $(OUTPUT)/landmarks.html
	swift run $(MACRO_FLAGS) --package-path Examples/AlbumSearch AlbumSearch \
		$(DEMO)/queries/screenshot-2.png --output $(OUTPUT)/album-search

# All targets with the default traits: the sources of products behind other traits are empty then.
plain: dependencies
	swift build $(PLAIN_FLAGS)

# A package outside of the repository depends on each product by the URL of a clone with a tag.
test-by-url: extra-dependencies
	Scripts/test-by-url

demo: build
	@mkdir -p $(OUTPUT)
	@rm -rf $(OUTPUT)/catalog
	$(LOOKALIKE) index $(DEMO)/covers/albums.csv --catalog $(OUTPUT)/catalog
	$(LOOKALIKE) index $(DEMO)/things/things.csv --catalog $(OUTPUT)/catalog
	$(LOOKALIKE) search --catalog $(OUTPUT)/catalog --limit 3 --sheet $(OUTPUT)/contact-sheet.html --timings \
		$(DEMO)/queries/*
	@echo
	@echo "The same as a page with pictures: $(OUTPUT)/contact-sheet.html"

# The service, beside the command, which runs it as “lookalike serve”.
service: build
	swift build $(SERVICE_FLAGS) --product lookalike-serve
	@[ $(LOOKALIKE_SERVE) -ef $(dir $(LOOKALIKE))lookalike-serve ] || ln -sf $(LOOKALIKE_SERVE) $(dir $(LOOKALIKE))

serve: service
	@mkdir -p $(OUTPUT)/catalogs
	$(LOOKALIKE) index $(DEMO)/covers/albums.csv --catalog $(OUTPUT)/catalogs/covers
	$(LOOKALIKE) index $(DEMO)/things/things.csv --catalog $(OUTPUT)/catalogs/covers
	@echo "Search with the page at the URL below; Control-C ends the service."
	@exec env -u SWIFT_DETERMINISTIC_HASHING $(LOOKALIKE) serve --catalogs $(OUTPUT)/catalogs --samples $(DEMO)/queries

# The service's tests, its page in headless Chromium, clients that are examples or generated, drawn requests by its
# description, the walk-through, and faults. The tests run programs, and so one after another, as those of the command.
test-service: build
	swift test $(SERVICE_FLAGS) $(TEST_FLAGS) --no-parallel
	Scripts/install-dependencies chromium curl
	[ -x $(PAGE_TEST) ] || python3 -m venv .venv-page
	$(PAGE_TEST) -m pip install --quiet --disable-pip-version-check -r Extras/Service/Tests/requirements.txt
	$(PAGE_TEST) Extras/Service/Tests/page/test_page.py $(LOOKALIKE_SERVE) --screenshots $(OUTPUT)/page
	Extras/Service/Tests/interface/run $(LOOKALIKE_SERVE) $(PAGE_TEST)
	Scripts/install-dependencies caddy nginx-light openssl
	Extras/Service/Tests/proxy/run $(LOOKALIKE_SERVE)
	$(PAGE_TEST) Extras/Service/Tests/walkthrough/run.py $(LOOKALIKE) $(LOOKALIKE_SERVE) --screenshots $(OUTPUT)/page
	Scripts/service-faults $(LOOKALIKE_SERVE) $(LOOKALIKE) 10

deb: build
	Scripts/deb $(OUTPUT)

# Installs it into a bare Debian 12, and uses it there. Needs root.
test-deb: deb
	Scripts/test-deb $(OUTPUT)/lookalike_*.deb

# Builds its container image, and uses it. Needs root.
test-container: deb
	Scripts/test-container

# Makes and checks all that a release of the current commit has: source, docs, deb, container and wheel, or some PARTS of
# them. Needs root.
release: dependencies
	Scripts/release $(OUTPUT)/release $(PARTS)

# A Python wheel with the command and its model; TRAITS chooses the image formats.
wheel: dependencies
	Scripts/wheel $(OUTPUT)/wheel $(TRAITS)

# The C interface, then the others. SMALL=1 for the Python module and the walk through all of them, without the wheel
# and with the program of “make build”. Most of its time is the build of Milvus's client, whose transport needs
# BoringSSL twice: swift-nio-ssl's and swift-crypto's.
test-integrations: test-c-interface $(if $(SMALL),,wheel)
	Scripts/install-dependencies openjdk-17-jre-headless
	Integrations/test $(if $(SMALL),--small $(LOOKALIKE),$(OUTPUT)/wheel/lookalike-*.whl)

# Tests of the training recipe, and all of it for a minute on generated images; installs PyTorch into .venv-training.
smoke-training: build
	Scripts/smoke-training

# What people use today, on the same work: BENCH="--only resize network-1" runs some of the contests.
bench:
	Scripts/bench $(BENCH)

# In the folder of the tests' build, whose core it has.
bench-quick: SHARED = 1
bench-quick: extra-dependencies
	swift package --package-path Benchmarks --scratch-path $(EXTRAS_BUILD) benchmark --no-progress

# Many searches in flight: throughput, how late other tasks are, and how long a cancelled search goes on.
bench-concurrency: dependencies
	swift build -c release $(STATIC_FLAGS) --package-path Benchmarks --scratch-path .build \
		--disable-build-manifest-caching --product Concurrency
	@rm -f .build/release.yaml # The plan is that of the benchmarks.
	cd Benchmarks && for run in "878 128 standard" "200000 256 prints" "1000000 128 prints"; do \
		../.build/release/Concurrency $$run; done

# libFuzzer for so many seconds per harness, for all or some of them: HARNESSES="ImageFuzz ModelFuzz".
fuzz:
	Scripts/fuzz $(or $(SECONDS),60) $(HARNESSES)

# The suite under a sanitizer: address, thread or undefined.
sanitize:
	Scripts/sanitize $(or $(SANITIZER),address)

# Failing system calls, kills and losses of power while a catalog is written: SAMPLE of each, or “all”.
faults: dependencies
	Scripts/faults $(or $(SAMPLE),50)

# The same of the service.
service-faults: service
	Scripts/service-faults $(LOOKALIKE_SERVE) $(LOOKALIKE) $(or $(SAMPLE),50)

# The kernels of this CPU, and those for Arm under emulation, against the portable ones.
test-emulated:
	Scripts/test-emulated

# All steps of CI, those too whose sources have not changed since they passed. They are recorded in .ci/verified.
ci-all:
	.ci/run --all

# “Scripts/lint --fix” formats.
lint:
	Scripts/lint

# Of all programs. Fails if groff has a warning.
man: service importer
	Scripts/install-dependencies groff-base
	@mkdir -p $(OUTPUT)
	@version=$$($(LOOKALIKE) --version); \
	for program in $(LOOKALIKE) $(LOOKALIKE_SERVE) $(LOOKALIKE_IMPORT); do \
		page=$(OUTPUT)/$$(basename $$program).1; \
		Scripts/man-page $$program $$version > $$page || exit 1; \
		warnings=$$(groff -k -man -Tutf8 -ww -z $$page 2>&1); \
		[ -z "$$warnings" ] || { echo "$$page: $$warnings"; exit 1; }; \
		echo "man -l $$page shows it."; \
	done

# The documentation as a static site. A warning is an error, and so is an undocumented public declaration.
docs: dependencies
	Scripts/docs $(OUTPUT)/docs

clean:
	rm -rf .build .build-fuzz .build-emulated .build-macros .build-address .build-thread .build-undefined \
		$(EXTRAS_BUILD) .build-outside .build-wheel .venv-page .venv-wheel Extras/*/.build Benchmarks/.build Benchmarks/.build-inputs $(OUTPUT)
