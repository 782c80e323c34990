package boundary_test

// backends are the stores that rows on records are shown on.
func backends() []backend { return []backend{fakeBackend()} }

// keyedBackends have keys of their own to look at.
func keyedBackends() []backend { return backends() }
