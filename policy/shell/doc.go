// Package shell reads the text of a command as shells would: which simple
// commands it is made of, which words each has, and which further commands
// programs such as env, sudo or sh -c run for it. It owns what is known about
// shells and programs; what rules make of it is left to package policy.
//
// The package is pure: no expansion, no look at files, no environment. What a
// shell finds out only when it runs the text is reported as unclear, and so is
// text that sh, bash and zsh do not read alike.
package shell
