// Package imports holds the house rules that a compiler does not: it has no code,
// only tests over the whole repository.
//
//	rule                                              file
//	who may import whom, also through others          rules_test.go
//	how many modules stand behind the root module     modules_test.go
//	every package explains itself, every name too     comments_test.go
//	no file and no function grows out of sight        budget_test.go
//	code in the README is code that compiles          readme_test.go
//	every fuzz target starts from committed seeds     seeds_test.go
//
// The arrows between the packages of this module, from leaf to root:
//
//	evidence <- lifecycle <- canonical <- runprogress <- boundary
//	                                   <- redisstore <- redisstore/embedded
//	                                   <- fakes
//	evidence <- projector <- boundary
//
// # Guarantees
//
// Each rule names its reason in the failure, each is checked over transitive
// imports, and each checker is itself tested on something that breaks the rule.
// A package that no arrow mentions is a failure: adding a package means saying
// who may know it.
//
// # Not guaranteed
//
// Imports of test files are free: a test may bring together what the library
// keeps apart. Packages built only on other systems than this one are not seen.
//
// # Use
//
//	go test ./internal/imports
//
// To allow an import, change rules_test.go and give the reason there.
package imports
