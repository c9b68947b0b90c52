// Package openapi makes the OpenAPI document of the HTTP API from descriptions of its routes. What many routes have alike it says once, in the
// components.
package openapi

import "github.com/google/jsonschema-go/jsonschema"

// These are the parts of an OpenAPI 3.1 document that this one has. The names and their meanings are from https://spec.openapis.org/oas/v3.1.1.

// Document is the whole of it.
type Document struct {
	OpenAPI    string                           `json:"openapi"`
	Info       Info                             `json:"info"`
	Servers    []Server                         `json:"servers"`
	Tags       []Tag                            `json:"tags"`
	Paths      map[string]map[string]*Operation `json:"paths"`
	Components Components                       `json:"components"`
	Security   []Requirement                    `json:"security"`
}

// Info says what the API is.
type Info struct {
	Title       string  `json:"title"`
	Summary     string  `json:"summary"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	License     License `json:"license"`
}

// License is the licence of the API.
type License struct {
	Name       string `json:"name"`
	Identifier string `json:"identifier"` // SPDX
}

// Server is where the API is served.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description"`
}

// Tag is an area of the API.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Requirement is what a request needs: by the name of a security scheme.
type Requirement map[string][]string

// Scheme is a way to say who one is.
type Scheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme"`
	Description string `json:"description"`
}

// Components are what many operations share.
type Components struct {
	Schemas    map[string]*jsonschema.Schema `json:"schemas"`
	Parameters map[string]Parameter          `json:"parameters"`
	Headers    map[string]Header             `json:"headers"`
	Responses  map[string]*Response          `json:"responses"`
	Schemes    map[string]Scheme             `json:"securitySchemes"`
}

// Operation is one method of one path.
type Operation struct {
	ID          string               `json:"operationId"`
	Tags        []string             `json:"tags"`
	Summary     string               `json:"summary"`
	Description string               `json:"description"`
	Security    *[]Requirement       `json:"security,omitempty"`
	Parameters  []Parameter          `json:"parameters,omitempty"`
	Body        *RequestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*Response `json:"responses"`
	Codes       []string             `json:"x-error-codes"` // those of its errors
}

// Parameter is one of the path, the query or the headers, or a reference.
type Parameter struct {
	Ref         string             `json:"$ref,omitempty"`
	Name        string             `json:"name,omitempty"`
	In          string             `json:"in,omitempty"`
	Description string             `json:"description,omitempty"`
	Required    bool               `json:"required,omitempty"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
}

// RequestBody is what a request may bring.
type RequestBody struct {
	Description string           `json:"description,omitempty"`
	Required    bool             `json:"required,omitempty"`
	Content     map[string]Media `json:"content"`
}

// Response is an answer, or a reference.
type Response struct {
	Ref         string            `json:"$ref,omitempty"`
	Description string            `json:"description,omitempty"`
	Headers     map[string]Header `json:"headers,omitempty"`
	Content     map[string]Media  `json:"content,omitempty"`
}

// Header is a header of answers, or a reference.
type Header struct {
	Ref         string             `json:"$ref,omitempty"`
	Description string             `json:"description,omitempty"`
	Schema      *jsonschema.Schema `json:"schema,omitempty"`
}

// Media is one form of a body.
type Media struct {
	Schema   *jsonschema.Schema `json:"schema"`
	Examples map[string]Example `json:"examples,omitempty"`
	// Events are, of a stream of Server-Sent Events, the schemas of their data by the name of the event. OpenAPI 3.1 has no word for them.
	Events map[string]*jsonschema.Schema `json:"x-events,omitempty"`
}

// Example is a body as it may be.
type Example struct {
	Summary string `json:"summary"`
	Value   any    `json:"value"`
}
