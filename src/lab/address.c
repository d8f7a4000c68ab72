#include "lab/lab.h"

#include <stdio.h>

#define HUB_HOST 0xfffe

static void write_address(int net, size_t node, char text[LAB_ADDRESS_BYTES])
{
    unsigned host = node == LAB_HUB ? HUB_HOST : (unsigned)node + 1;
    snprintf(text, LAB_ADDRESS_BYTES, "10.%d.%u.%u", net, host >> 8 & 0xff, host & 0xff);
}

void lab_address(size_t node, char text[LAB_ADDRESS_BYTES]) { write_address(77, node, text); }

void lab_control_address(size_t node, char text[LAB_ADDRESS_BYTES])
{
    write_address(78, node, text);
}
