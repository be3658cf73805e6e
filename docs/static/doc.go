// Package static has manifests of static jobs, and tests of them.
package static
