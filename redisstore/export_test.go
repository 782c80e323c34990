package redisstore

// CompleteDigest is how a server knows the script that ends a record.
var CompleteDigest = newScripts().complete.digest
