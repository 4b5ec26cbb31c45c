# shellcheck shell=bash
# Clients on both libraries, over a wire: what one machine cannot show by itself.
setup_all eth0
cue wait ready
run_test interop_test.sh root 280 use "$PEER6" \
	private_data_max descriptor reject closed_port \
	write_read write_with_imm atomic_write send send_with_imm recv_before_connecting \
	receive_cq shared_channel srq_of_server srq_of_client \
	flush_visibility flush_visibility_readable flush_insisting_on_read flush_not_declared \
	client_disconnects server_disconnects several server_killed
cue set over
