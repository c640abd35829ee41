package source

// Paths is the parser of paths, for tests.
var Paths = paths
