package exec

// thisProgram is the image that runs now. A path would name another program once a deployment has
// replaced the file.
func thisProgram() (string, error) { return "/proc/self/exe", nil }
