module github.com/toolharness/harness/benchmarks

go 1.26.0

require (
	github.com/redis/go-redis/v9 v9.23.0
	github.com/toolharness/harness v0.0.0
	github.com/toolharness/harness/executors/docsearch v0.0.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
	go.uber.org/atomic v1.12.0 // indirect
	go.uber.org/multierr v1.10.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.37.0 // indirect
)

replace (
	github.com/toolharness/harness => ../
	github.com/toolharness/harness/executors/docsearch => ../executors/docsearch
)
