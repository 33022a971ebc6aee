grant update (turn_at) on mails to integration_api; -- A mail that is put off goes to the end of the queue.
