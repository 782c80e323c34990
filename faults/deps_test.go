package faults_test

import (
	_ "github.com/anishathalye/porcupine"
	_ "github.com/redis/go-redis/v9"
	_ "github.com/toolharness/harness/redisstore"
)
