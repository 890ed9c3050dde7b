/* FIFO hog(s) = one per cpu; main must set the flag. mode: compute/yield/rr/prios/io/lifo */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>
static _Atomic int flag; static int mode; static sem_t sem; static int p[2];
static double now(void){struct timespec t;clock_gettime(CLOCK_MONOTONIC,&t);return t.tv_sec+t.tv_nsec*1e-9;}
static void*hog(void*a){ while(!flag) if(mode==1) sched_yield(); return a;}
static void*hog_post(void*a){ sem_post(&sem); while(!flag); return a;}
static void*waiter(void*a){ sem_wait(&sem); flag=1; return a;}
static void*reader(void*a){ char c; read(p[0],&c,1); flag=1; return a;}
static pthread_t start(int pol,int prio,void*(*f)(void*)){pthread_attr_t at;pthread_t t;struct sched_param sp={.sched_priority=prio};
pthread_attr_init(&at);pthread_attr_setinheritsched(&at,PTHREAD_EXPLICIT_SCHED);pthread_attr_setschedpolicy(&at,pol);pthread_attr_setschedparam(&at,&sp);
int e=pthread_create(&t,&at,f,NULL); if(e){fprintf(stderr,"%s\n",strerror(e));exit(1);} return t;}
int main(int c,char**v){ double t0=now(); pthread_t t[8];int n=0; mode=atoi(v[1]);int nr=atoi(v[2]);sem_init(&sem,0,0);pipe(p);
 if(mode==0||mode==1){for(;n<nr;n++)t[n]=start(SCHED_FIFO,10,hog);}
 if(mode==2){for(;n<nr;n++)t[n]=start(SCHED_RR,10,hog);}
 if(mode==3){for(;n<nr;n++)t[n]=start(n%2?SCHED_RR:SCHED_FIFO,10+n,hog);}
 if(mode==4){t[n++]=start(SCHED_OTHER,0,waiter);usleep(10000);t[n++]=start(SCHED_FIFO,10,hog_post);}
 if(mode==5){t[n++]=start(SCHED_FIFO,20,reader);usleep(10000);if(!fork()){usleep(50000);write(p[1],"a",1);_exit(0);} for(int i=0;i<nr;i++)t[n++]=start(SCHED_FIFO,10,hog);}
 if(mode==6){t[n++]=start(SCHED_OTHER,0,reader);usleep(10000);if(!fork()){usleep(50000);write(p[1],"a",1);_exit(0);} for(int i=0;i<nr;i++)t[n++]=start(SCHED_FIFO,10,hog);}
 if(mode<4){usleep(1000); flag=1;} for(int i=0;i<n;i++)pthread_join(t[i],0); printf("mode %d: %.3f s\n",mode,now()-t0);}
