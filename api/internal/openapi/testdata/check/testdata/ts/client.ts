// The types that openapi-typescript made are used with openapi-fetch against a live cluster.
import createClient from "openapi-fetch";
import type { components, paths } from "./taskrt.js";

declare const process: { argv: string[] };

const client = createClient<paths>({ baseUrl: process.argv[2] });

function must(ok: boolean, what: string, value: unknown): asserts ok {
  if (!ok) throw new Error(`${what}: ${JSON.stringify(value)}`);
}

const put = await client.PUT("/v1/behaviors/{name}", { params: { path: { name: "greet" } }, body: { kind: "external" } });
must(put.error === undefined, "put", put.error);

const made = await client.POST("/v1/tasks", { body: { behavior: "greet", id: "ts-1", params: { name: "ann" }, priority: 9, if_exists: "fail" } });
must(made.data !== undefined && "task" in made.data, "submit", made.error);
must(made.data.outcome === "created", "submit", made.data);
must(made.response.headers.get("Location") === "/v1/tasks/ts-1", "submit", made.data);

const accepted = await client.POST("/v1/behaviors/{name}/accept", { params: { path: { name: "greet" } }, body: { worker: "ts", max: 100, wait: "10s" } });
const mine = accepted.data?.tasks.find((t) => t.id === "ts-1");
must(mine?.lease !== undefined, "accept", accepted);
const finished = await client.POST("/v1/tasks/{id}/finish", { params: { path: { id: "ts-1" } }, body: { token: mine.lease.token, result: "hello ann" } });
must(finished.error === undefined, "finish", finished.error);

const waited = await client.POST("/v1/tasks:wait", { body: { ids: ["ts-1"], mode: "all", timeout: "10s" } });
must(waited.data?.tasks[0]?.status === "SUCCESS", "wait", waited);
const got = await client.GET("/v1/tasks/{id}", { params: { path: { id: "ts-1" }, query: { wait: "10s", until: "final" } } });
must(got.data?.task.result === "hello ann", "get", got);
const list = await client.GET("/v1/tasks", { params: { query: { status: ["SUCCESS"], limit: 1000 } } });
must(list.data?.tasks.some((t) => t.id === "ts-1") === true, "list", list);

const none = await client.GET("/v1/tasks/{id}", { params: { path: { id: "nobody" } } });
const code: components["schemas"]["ErrorCode"] | undefined = none.error?.code;
must(code === "task_not_found" && none.response.status === 404, "get of nobody", none.error);
console.log("submit, accept, finish, wait, get, list, an error");
