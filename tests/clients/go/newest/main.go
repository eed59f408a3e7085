// Runs the official clients for Go through a gateway. Gets an Input on standard input, and prints one JSON object per line:
// the result of each session, then each recorded answer that a client cannot read, then the number of answers.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	anthropic "github.com/anthropics/anthropic-sdk-go/v2"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// Gateway is the address of a gateway, with /v1 at the end, and a key.
type Gateway struct {
	BaseURL string `json:"base_url"`
	Key     string `json:"key"`
}

type Input struct {
	Recordings struct {
		Gateway
		Models []string `json:"models"`
	} `json:"recordings"`
	Sessions []struct {
		Gateway
		ID    string `json:"id"`
		Model string `json:"model"`
	} `json:"sessions"`
	Embeddings struct {
		Gateway
		Model string `json:"model"`
	} `json:"embeddings"`
}

type Clients struct {
	vendor openai.Client
	claude anthropic.Client
}

func connect(to Gateway) Clients {
	return Clients{
		openai.NewClient(option.WithBaseURL(to.BaseURL), option.WithAPIKey(to.Key), option.WithMaxRetries(0)),
		anthropic.NewClient(
			anthropicoption.WithBaseURL(strings.TrimSuffix(to.BaseURL, "/v1")),
			anthropicoption.WithAPIKey(to.Key),
			anthropicoption.WithMaxRetries(0),
		),
	}
}

var printing sync.Mutex

func report(value any) {
	printing.Lock()
	defer printing.Unlock()
	line, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}

func main() {
	var input Input
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		panic(err)
	}
	var sessions sync.WaitGroup
	for _, session := range input.Sessions {
		sessions.Add(1)
		go func() {
			defer sessions.Done()
			clients := connect(session.Gateway)
			for _, api := range apis {
				result := runSession(clients, api, session.Model)
				result.ID = session.ID
				report(result)
			}
		}()
	}
	sessions.Wait()
	report(embed(connect(input.Embeddings.Gateway), input.Embeddings.Model))
	readRecordings(connect(input.Recordings.Gateway), input.Recordings.Models)
}
