// SPDX-License-Identifier: BSD-3-Clause
/*
 * Accepts one connection: looks at the text that came with the request, says
 * no to an empty one, answers others, and waits until the client hangs up.
 *
 *	connection_server 192.0.2.1 7471
 *	connection_client 192.0.2.1 7471 'Good morning'
 */
#include "common.h"

enum { TEXT_MAX = 40 };

/* Private data may arrive with zeros behind it. */
static void take_text(const struct rpma_conn_private_data *pdata, char text[TEXT_MAX])
{
	memset(text, 0, TEXT_MAX);
	if (pdata->ptr)
		memcpy(text, pdata->ptr, pdata->len < TEXT_MAX ? pdata->len : TEXT_MAX - 1);
}

static void accept_client(struct rpma_conn_req *req, const char *text)
{
	struct rpma_conn_private_data pdata;
	char answer[TEXT_MAX + 20];
	struct rpma_conn *conn;

	/* rpma_conn_req_connect() ends the request in every outcome. */
	pdata.len = snprintf(answer, sizeof(answer), "You said: %s", text) + 1;
	pdata.ptr = answer;
	check(rpma_conn_req_connect(&req, &pdata, &conn), "accepting the client");
	expect_event(conn, RPMA_CONN_ESTABLISHED);
	printf("connected\n");
	wait_for_hang_up(conn);
	printf("the client has hung up\n");
}

int main(int argc, char *argv[])
{
	struct rpma_conn_private_data pdata;
	struct rpma_conn_req *req;
	struct rpma_peer *peer;
	struct rpma_ep *ep;
	char text[TEXT_MAX];

	if (argc != 3)
		die_usage(argv[0], "ADDR PORT");
	show_errors();

	peer = open_peer(argv[1], RPMA_UTIL_IBV_CONTEXT_LOCAL);
	check(rpma_ep_listen(peer, argv[1], argv[2], &ep), "listening");
	say_ready(argv[1], argv[2]);

	check(rpma_ep_next_conn_req(ep, NULL, &req), "waiting for a client");
	check(rpma_conn_req_get_private_data(req, &pdata), "reading what the client says");
	take_text(&pdata, text);
	if (*text) {
		printf("a client says: %s\n", text);
		accept_client(req, text);
	} else {
		/* To end a request that came in is to reject it. */
		check(rpma_conn_req_delete(&req), "rejecting the client");
		printf("rejected a client that says nothing\n");
	}

	check(rpma_ep_shutdown(&ep), "rpma_ep_shutdown");
	check(rpma_peer_delete(&peer), "rpma_peer_delete");
	return EXIT_SUCCESS;
}
