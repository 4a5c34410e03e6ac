"""The only code that talks to the API server.

Ports and values: ports (Runtime, Transport, Stream), api_request, api_reply.
Shells: asyncio_shell (AsyncioRuntime, run), http_shell (HttpTransport), credentials_shell (find_connection,
LiveCredentials), plugin_shell.
Calls: api_client (ApiClient.read, .write), api_outcome (ReadOutcome, WriteOutcome, Reason), paged_list
(pages, list_all), rate_limit, backoff.
Caches: projection (Projection, whole), node_record (node_records), object_cache (ObjectCache, Change),
reflector (Reflector), reflector_loop (run_reflector).
"""
