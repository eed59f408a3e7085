// Calls a gateway with the client that oapi-codegen has written. Gets {"base_url", "keys", "calls"} on standard input. Prints one
// JSON object for each answer that the client cannot read, and then the number of answers.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"reflect"

	"headgate/openapi/gateway"
)

type call struct {
	Operation string          `json:"operation"`
	Key       string          `json:"key"`
	Path      []string        `json:"path"`
	Query     json.RawMessage `json:"query"`
	Body      json.RawMessage `json:"body"`
	Status    int             `json:"status"`
}

func main() {
	var given struct {
		BaseURL string            `json:"base_url"`
		Keys    map[string]string `json:"keys"`
		Calls   []call            `json:"calls"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		panic(err)
	}
	output := json.NewEncoder(os.Stdout)
	for _, each := range given.Calls {
		if err := attempt(given.BaseURL, given.Keys[each.Key], each); err != nil {
			output.Encode(map[string]string{"operation": each.Operation, "fault": err.Error()})
		}
	}
	output.Encode(map[string]int{"answers": len(given.Calls)})
}

func attempt(baseURL, key string, call call) error {
	client, err := gateway.NewClientWithResponses(baseURL, gateway.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+key)
			return nil
		},
	))
	if err != nil {
		return err
	}
	name := string(bytes.ToUpper([]byte(call.Operation[:1]))) + call.Operation[1:]
	method := reflect.ValueOf(client).MethodByName(name + "WithResponse")
	if !method.IsValid() {
		return fmt.Errorf("the client has no method %s", name)
	}
	arguments, err := readArguments(method.Type(), call)
	if err != nil {
		return err
	}
	results := method.Call(arguments)
	if failure, isFailure := results[1].Interface().(error); isFailure && failure != nil {
		return failure
	}
	return checkAnswer(results[0], call.Status)
}

// readArguments reads the values of the parameters: parts of the path, then the query, then the body, each with its type.
func readArguments(method reflect.Type, call call) ([]reflect.Value, error) {
	arguments := []reflect.Value{reflect.ValueOf(context.Background())}
	for _, part := range call.Path {
		arguments = append(arguments, reflect.ValueOf(part))
	}
	for index := len(arguments); index < method.NumIn()-1; index++ { // the last one is variadic
		wanted, given := method.In(index), call.Body
		if wanted.Kind() == reflect.Pointer {
			given = call.Query
		}
		value := reflect.New(wanted)
		if len(given) > 0 {
			if err := json.Unmarshal(given, value.Interface()); err != nil {
				return nil, err
			}
		}
		arguments = append(arguments, value.Elem())
	}
	return arguments, nil
}

// checkAnswer checks that the client has read an answer with the status.
func checkAnswer(answer reflect.Value, status int) error {
	got := answer.MethodByName("StatusCode").Call(nil)[0].Int()
	body := answer.Elem().FieldByName("Body").Bytes()
	if int(got) != status {
		return fmt.Errorf("the status is %d: %.300s", got, body)
	}
	read := answer.Elem().FieldByName(fmt.Sprintf("JSON%d", status))
	if !read.IsValid() || read.IsNil() {
		return fmt.Errorf("the answer is not read: %.300s", body)
	}
	return nil
}
