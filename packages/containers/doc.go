// Package containers tries what is made for containers: the image, the compose file, the manifests for Kubernetes. It has nothing but tests. It is
// a module of its own, because what reads such files brings much with it.
package containers
