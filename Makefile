DEMO = Examples/Demo
OUTPUT = demo-output
# In release, like the build: the tests run networks and resize large images. Testable imports would compile
# everything a second time with other flags, and no test needs them.
TEST_FLAGS = -c release --disable-testable-imports
# Shared by the packages in Extras, whose products are behind traits of the package in the root. They all ask for the
# same traits, so that the core is built once for them.
EXTRAS_BUILD = .build-extras
# The plan of one package must not be taken for that of the next, whose tests would not be run.
EXTRAS_FLAGS = --scratch-path $(EXTRAS_BUILD) --disable-build-manifest-caching
# The macros and what uses them: swift-syntax takes ten minutes to optimize, on one core.
MACRO_FLAGS = -c debug --scratch-path .build-macros --disable-build-manifest-caching \
	-debug-info-format none -Xcc -O2
LOOKALIKE = $(shell swift build -c release --show-bin-path)/lookalike
# The service without HTTPS of its own, which would build BoringSSL for minutes; “make deb” has it.
SERVICE_FLAGS = --package-path Extras/Service $(EXTRAS_FLAGS) --disable-default-traits
IMPORT_FLAGS = --package-path Extras/ONNXImport $(EXTRAS_FLAGS)
LOOKALIKE_IMPORT = $(shell swift build -c release $(IMPORT_FLAGS) --show-bin-path)/lookalike-import
LOOKALIKE_SERVE = $(shell swift build -c release $(SERVICE_FLAGS) --show-bin-path)/lookalike-serve
PAGE_TEST = .venv-page/bin/python

# Before Swift 6.4 SwiftPM passes the enabled traits to the compiler in the order of a hash table, another one in every
# process, so that each new plan compiles all targets again (swiftlang/swift-package-manager, issue 10525).
export SWIFT_DETERMINISTIC_HASHING = 1

.PHONY: help build service serve test-service deb test-deb test-container wheel test-integrations importer test \
	check-networks demo example test-by-url smoke-training bench bench-quick bench-concurrency fuzz sanitize faults \
	service-faults test-emulated lint man docs dependencies extra-dependencies clean

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
	@echo "make test-service    test the service, its page in Chromium, its interface and its examples"
	@echo "make deb             build a Debian package of all programs, $(OUTPUT)/lookalike_*.deb"
	@echo "make test-deb        install it into a bare Debian 12, and use it there"
	@echo "make wheel           build a Python wheel of the command and the module, $(OUTPUT)/wheel/"
	@echo "make test-integrations  test the wheel in a bare environment, Milvus, and the Spark job; SMALL=1"
	@echo "make test-container  build a container image of it with podman, and use it"
	@echo "make smoke-training  run the training recipe for a minute on generated images"
	@echo "make bench           compare with OpenCV, Pillow, onnxruntime, OpenVINO, FAISS and USearch"
	@echo "make bench-quick     compare with the limits of the machine, in a minute"
	@echo "make bench-concurrency  many searches in flight, beside other tasks"
	@echo "make fuzz            fuzz what reads files, SECONDS=60 per harness"
	@echo "make sanitize        run the tests under a sanitizer, SANITIZER=address, thread or undefined"
	@echo "make faults          break commands that write: failing calls, kills, loss of power; SAMPLE=50"
	@echo "make service-faults  break the service while clients write: failing calls, kills; SAMPLE=50"
	@echo "make test-emulated   compare the kernels, those for Arm under emulation, with the portable ones"
	@echo "make lint            check the format of Swift, C and Python"
	@echo "make man             write the man page, $(OUTPUT)/lookalike.1"
	@echo "make docs            build the documentation, $(OUTPUT)/docs"
	@echo "make clean           remove what was built"

dependencies:
	@Scripts/install-dependencies

# The libraries of the products in Extras, calendars, XML, barcodes and text, and a BLAS library for the tests of batches.
extra-dependencies:
	@Scripts/install-dependencies libical-dev libxml2-dev libblis4-serial libzxing-dev libtesseract-dev tesseract-ocr-eng

build: dependencies
	swift build -c release --product lookalike

# Those that run commands do so one after another: all tests at once have thousands of files open, and with more than
# some 1,300 Process of Foundation may crash (swift-corelibs-foundation, pull request 5472).
test: extra-dependencies
	swift test $(TEST_FLAGS) --skip CommandTests
	swift test $(TEST_FLAGS) --no-parallel --filter CommandTests
	Scripts/check-apple-sources
	swift test $(TEST_FLAGS) --package-path Extras/SystemStores $(EXTRAS_FLAGS)
	swift test $(TEST_FLAGS) --package-path Extras/Barcodes $(EXTRAS_FLAGS)
	swift test $(TEST_FLAGS) --package-path Extras/TextRecognition $(EXTRAS_FLAGS)
	swift test $(MACRO_FLAGS) --package-path Extras/VisualSearchMacros
	swift test $(MACRO_FLAGS) --package-path Extras/AppleNames
	swift test $(TEST_FLAGS) $(IMPORT_FLAGS)

# The import of networks, beside the command, which runs it as “lookalike model import”.
importer: build
	swift build -c release --product lookalike-import $(IMPORT_FLAGS)
	@ln -sf $(LOOKALIKE_IMPORT) $(dir $(LOOKALIKE))lookalike-import

# Imported networks against onnxruntime; installs PyTorch into .venv-networks.
check-networks: dependencies
	Scripts/check-networks $(NETWORKS)

# The example app: a visual search from a screenshot to the app's screens. Before it, a catalog that a server keeps,
# which has the core of the command's build, and the programs that compile against Apple's modules, too.
example: extra-dependencies
	@rm -rf $(OUTPUT)/album-search
	@rm -rf $(OUTPUT)/live-catalog
	swift run -c release --package-path Examples/LiveCatalog --scratch-path .build --disable-build-manifest-caching \
		LiveCatalog $(DEMO)/covers $(OUTPUT)/live-catalog
	@rm -f .build/release.yaml # The plan is that of the example.
	swift test $(MACRO_FLAGS) --package-path Examples/VisualIntelligence
	@mkdir -p $(OUTPUT)
	printf '1\nm\nq\n' | swift run $(MACRO_FLAGS) --package-path Examples/VisualIntelligence Host \
		music $(DEMO)/covers $(DEMO)/queries/screenshot-2.png $(OUTPUT)/music.html
	printf '1\nq\n2\n' | swift run $(MACRO_FLAGS) --package-path Examples/VisualIntelligence Host \
		landmarks $(DEMO)/covers $(DEMO)/queries/photo-2.jpg $(OUTPUT)/landmarks.html
	swift run $(MACRO_FLAGS) --package-path Examples/AlbumSearch AlbumSearch \
		$(DEMO)/queries/screenshot-2.png --output $(OUTPUT)/album-search
	$(MAKE) test-by-url

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
	swift build -c release --product lookalike-serve $(SERVICE_FLAGS)
	@ln -sf $(LOOKALIKE_SERVE) $(dir $(LOOKALIKE))lookalike-serve

serve: service
	@mkdir -p $(OUTPUT)/catalogs
	$(LOOKALIKE) index $(DEMO)/covers/albums.csv --catalog $(OUTPUT)/catalogs/covers
	$(LOOKALIKE) index $(DEMO)/things/things.csv --catalog $(OUTPUT)/catalogs/covers
	@echo "Search with the page at the URL below; Control-C ends the service."
	@exec env -u SWIFT_DETERMINISTIC_HASHING $(LOOKALIKE) serve --catalogs $(OUTPUT)/catalogs --samples $(DEMO)/queries

# The service's tests, its page in headless Chromium, clients that are examples or generated, drawn requests by its
# description, the walk-through, and faults. The tests run programs, and so one after another, as those of the command.
test-service: build
	swift test --no-parallel $(TEST_FLAGS) $(SERVICE_FLAGS)
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

# A Python wheel with the command and its model; TRAITS chooses the image formats.
wheel: dependencies
	Scripts/wheel $(OUTPUT)/wheel $(TRAITS)

# SMALL=1 for the walk through all of them alone, without the wheel and with the program of “make build”. Most of its
# time is the build of Milvus's client, whose transport needs BoringSSL twice: swift-nio-ssl's and swift-crypto's.
test-integrations: $(if $(SMALL),build,wheel)
	Scripts/install-dependencies openjdk-17-jre-headless
	Integrations/test $(if $(SMALL),--small $(LOOKALIKE),$(OUTPUT)/wheel/lookalike-*.whl)

# The training recipe for a minute on generated images; installs PyTorch into .venv-training.
smoke-training: build
	Scripts/smoke-training

# What people use today, on the same work: BENCH="--only resize network-1" runs some of the contests.
bench:
	Scripts/bench $(BENCH)

# In the folder of the command's build, whose core it has.
bench-quick: dependencies
	swift package --package-path Benchmarks --scratch-path .build benchmark --no-progress
	@rm -f .build/release.yaml # The plan is that of the benchmarks.

# Many searches in flight: throughput, how late other tasks are, and how long a cancelled search goes on.
bench-concurrency: dependencies
	swift build -c release --package-path Benchmarks --scratch-path .build --disable-build-manifest-caching \
		--product Concurrency
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

# “Scripts/lint --fix” formats.
lint:
	Scripts/lint

# Fails if groff has a warning.
man: build
	Scripts/install-dependencies groff-base
	@mkdir -p $(OUTPUT)
	Scripts/man-page $(LOOKALIKE) > $(OUTPUT)/lookalike.1
	@warnings=$$(groff -k -man -Tutf8 -ww -z $(OUTPUT)/lookalike.1 2>&1); \
		[ -z "$$warnings" ] || { echo "$$warnings"; exit 1; }
	@echo "man -l $(OUTPUT)/lookalike.1 shows it."

# The documentation as a static site. A warning is an error, and so is an undocumented public declaration.
docs: dependencies
	Scripts/docs $(OUTPUT)/docs

clean:
	rm -rf .build .build-fuzz .build-emulated .build-macros .build-address .build-thread .build-undefined \
		$(EXTRAS_BUILD) .build-outside .build-wheel .venv-page .venv-wheel Extras/*/.build Benchmarks/.build Benchmarks/.build-inputs $(OUTPUT)
